"""`ingot devices`: the machines here that a model can run on."""

from __future__ import annotations

import click

from ingot.cli.examples import examples
from ingot.cli.json_output import write_json
from ingot.cli.stdout import write_text
from ingot.cli.units import size_text


@click.command(epilog=examples("ingot devices", "ingot devices --json"))
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def devices(as_json: bool) -> None:
    """List the processor and the GPUs that a model can run on.

    A session uses a GPU where its providers name it, `cuda`, or `cuda:1` for
    the second one; so does INGOT_PROVIDERS. It needs NVIDIA's driver, and
    nothing else.
    """
    from ingot.codegen.llvm.host import host  # the root command loads nothing it does not need
    from ingot.errors import ProviderError
    from ingot.providers.cuda.device import Device
    from ingot.providers.cuda.driver import open_driver
    from ingot.runtime.processors import processors

    target = host()
    gpus: list[Device] = []
    reason = None
    try:
        gpus = [Device(open_driver(), number) for number in range(open_driver().count)]
    except ProviderError as error:
        reason = error.message
    if as_json:
        entries = [
            {
                "provider": f"cuda:{gpu.number}",
                "name": gpu.name,
                "capability": ".".join(map(str, gpu.capability)),
                "multiprocessors": gpu.multiprocessors,
                "bytes": gpu.total_bytes,
            }
            for gpu in gpus
        ]
        processor = {"provider": "cpu", "name": target.cpu, "processors": processors()}
        write_json({"devices": [processor, *entries], "without_gpu_because": reason})
        return
    lines = [f"cpu     {target.cpu}, {processors()} processors"]
    for gpu in gpus:
        capability = ".".join(map(str, gpu.capability))
        facts = f"{gpu.multiprocessors} multiprocessors, {size_text(gpu.total_bytes)}, compute capability {capability}"
        lines.append(f"cuda:{gpu.number}  {gpu.name}, {facts}")
    write_text("\n".join(lines) + "\n")
    if reason is not None:
        click.echo(f"no GPU: {reason}", err=True)
