"""Programs of primitives, what is decided of them, and the kernels that are built: texts in, texts out."""

from __future__ import annotations

from fuse.programs import N, fuses_to, parameter, weights
from ingot.dtypes import DType
from ingot.prim import apply, concat, contract, expand, gather, pad, permute, reduce_, reshape, scan, scatter, window
from ingot.prim.make_region import branch, repeat
from ingot.prim.tensor import Tensor


def test_elementwise_functions_of_elementwise_functions_are_one_kernel() -> None:
    x = parameter("x", N, 8)
    results = [apply("multiply", apply("add", x, 1.0), apply("exp", x))]
    fuses_to(
        results,
        """
%3 = add: fused into k1
%4 = exp: fused into k1
%5 = multiply: stored by k1, it is a result
k1: x -> %5

kernel k1(x: float32[8*n], k1_out: float32[8*n])
  for i0 < n:
    for i1 < 8:
      k1_out[i0*8 + i1] = (x[i0*8 + i1] + 1.0) * exp(x[i0*8 + i1])
""",
    )


def test_what_two_reductions_read_is_stored_once() -> None:
    x = parameter("x", N, 8)
    shared = apply("exp", x)
    results = [reduce_("add", shared, (0,)), reduce_("add", shared, (1,))]
    fuses_to(
        results,
        """
%1 = exp: stored by k1, several kernels read it
%2 = reduce add: stored by k2, it is a result
%3 = reduce add: stored by k3, it is a result
k1: x -> %1
k2: %1 -> %2
k3: %1 -> %3

kernel k1(x: float32[8*n], k1_out: float32[8*n])
  for i0 < n:
    for i1 < 8:
      k1_out[i0*8 + i1] = exp(x[i0*8 + i1])
kernel k2(k1_out: float32[8*n], k2_out: float32[8])
  for i1 < 8:
    r0 = 0.0
    for j0 < n:
      r0 += k1_out[j0*8 + i1]
    k2_out[i1] = r0
kernel k3(k1_out: float32[8*n], k3_out: float32[n])
  for i0 < n:
    r0 = 0.0
    for j1 < 8:
      r0 += k1_out[i0*8 + j1]
    k3_out[i0] = r0
""",
    )


def test_a_softmax_is_one_kernel_with_three_passes_over_a_row() -> None:
    x = parameter("x", N, 8)
    powers = apply("exp", apply("subtract", x, reduce_("maximum", x, (1,))))
    results = [apply("divide", powers, reduce_("add", powers, (1,)))]
    fuses_to(
        results,
        """
%1 = reduce maximum: fused into k1
%3 = subtract: fused into k1
%4 = exp: fused into k1
%5 = reduce add: fused into k1
%7 = divide: stored by k1, it is a result
k1: x -> %7

kernel k1(x: float32[8*n], k1_out: float32[8*n])
  for i0 < n:
    r0 = -inf
    for i1 < 8:
      r0 = maximum(r0, x[i0*8 + i1])
    r1 = 0.0
    for i1 < 8:
      r1 += exp(x[i0*8 + i1] - r0)
    for i1 < 8:
      k1_out[i0*8 + i1] = exp(x[i0*8 + i1] - r0) / r1
""",
    )


def test_a_layer_normalisation_is_one_kernel() -> None:
    x = parameter("x", N, 8)
    centred = apply("subtract", x, apply("divide", reduce_("add", x, (1,)), 8.0))
    variance = apply("divide", reduce_("add", apply("multiply", centred, centred), (1,)), 8.0)
    scaled = apply("divide", centred, apply("sqrt", apply("add", variance, 1e-5)))
    results = [apply("multiply", scaled, parameter("scale", 8))]
    fuses_to(
        results,
        """
%1 = reduce add: fused into k1
%4 = divide: fused into k1
%6 = subtract: fused into k1
%7 = multiply: fused into k1
%8 = reduce add: fused into k1
%11 = divide: fused into k1
%14 = add: fused into k1
%15 = sqrt: fused into k1
%17 = divide: fused into k1
%21 = multiply: stored by k1, it is a result
k1: x, scale -> %21

kernel k1(scale: float32[8], x: float32[8*n], k1_out: float32[8*n])
  for i0 < n:
    r0 = 0.0
    for i1 < 8:
      r0 += x[i0*8 + i1]
    r1 = 0.0
    for i1 < 8:
      t0 = x[i0*8 + i1] - r0 / 8.0
      r1 += t0 * t0
    for i1 < 8:
      k1_out[i0*8 + i1] = (x[i0*8 + i1] - r0 / 8.0) / sqrt(r1 / 8.0 + 1e-05) * scale[i1]
""",
    )


def test_bias_and_activation_are_the_epilogue_of_a_contraction() -> None:
    x = parameter("x", N, 8)
    product = contract(x, weights(8, 4), "mk,kn->mn")
    results = [apply("maximum", apply("add", product, parameter("bias", 4)), 0.0)]
    fuses_to(
        results,
        """
%2 = contract: fused into k1
%6 = add: fused into k1
%9 = maximum: stored by k1, it is a result
k1: x, bias -> %9, contraction with epilogue add and maximum

kernel k1(bias: float32[4], k1_weights: float32[32], x: float32[8*n], k1_out: float32[4*n])
  product m m<n, n n<4:
    sum = over k<8: x[m*8 + k] * k1_weights[0] packed
    k1_out[m*4 + n] = maximum(sum + bias[n], 0.0)
""",
    )


def test_a_reduction_of_sums_does_not_fit_into_an_epilogue() -> None:
    x = parameter("x", N, 8)
    product = contract(x, weights(8, 4), "mk,kn->mn")
    results = [apply("subtract", product, reduce_("maximum", product, (1,)))]
    fuses_to(
        results,
        """
%2 = contract: stored by k1, it ends a contraction
%3 = reduce maximum: fused into k2
%5 = subtract: stored by k2, it is a result
k1: x -> %2, contraction
k2: %2 -> %5

kernel k1(k1_weights: float32[32], x: float32[8*n], k1_out: float32[4*n])
  product m m<n, n n<4:
    sum = over k<8: x[m*8 + k] * k1_weights[0] packed
    k1_out[m*4 + n] = sum
kernel k2(k1_out: float32[4*n], k2_out: float32[4*n])
  for i0 < n:
    r0 = -inf
    for i1 < 4:
      r0 = maximum(r0, k1_out[i0*4 + i1])
    for i1 < 4:
      k2_out[i0*4 + i1] = k1_out[i0*4 + i1] - r0
""",
    )


def test_an_epilogue_that_keeps_columns_in_two_axes_is_given_up() -> None:
    x = parameter("x", 6, 8)
    product = contract(x, weights(8, 2, 3), "mk,kab->mab")
    results = [apply("add", product, parameter("bias", 3))]
    fuses_to(
        results,
        """
%2 = contract: stored by k1, its columns lie in several axes
%6 = add: stored by k2, it is a result
k1: x -> %2, contraction
k2: %2, bias -> %6

kernel k1(k1_weights: float32[48], x: float32[48], k1_out: float32[36])
  product m m<6, n a<2 b<3:
    sum = over k<8: x[m*8 + k] * k1_weights[0] packed
    k1_out[m*6 + a*3 + b] = sum
kernel k2(bias: float32[3], k1_out: float32[36], k2_out: float32[36])
  for i0 < 6:
    for i1 < 2:
      for i2 < 3:
        k2_out[i0*6 + i1*3 + i2] = k1_out[i0*6 + i1*3 + i2] + bias[i2]
""",
    )


def test_one_row_of_sums_is_a_reduction_and_packs_nothing() -> None:
    row, matrix = parameter("row", 1, 8), parameter("matrix", 8, 4)
    results = [apply("exp", contract(row, matrix, "mk,kn->mn"))]
    fuses_to(
        results,
        """
%2 = contract: fused into k1
%3 = exp: stored by k1, it is a result
k1: row, matrix -> %3

kernel k1(matrix: float32[32], row: float32[8], k1_out: float32[4])
  for i1 < 4:
    r0 = 0.0
    for j2 < 8:
      r0 += row[j2] * matrix[j2*4 + i1]
    k1_out[i1] = exp(r0)
""",
    )


def test_what_a_reshape_joins_the_axes_of_is_stored_in_their_order() -> None:
    x = parameter("x", 2, 3, 4)
    turned = apply("exp", permute(x, (1, 0, 2)))
    results = [reduce_("add", reshape(turned, (3, 8)), (1,))]
    fuses_to(
        results,
        """
%2 = exp: stored by k1, a reshape joins its axes
%4 = reduce add: stored by k2, it is a result
k1: x -> %2
k2: %2 -> %4

kernel k1(x: float32[24], k1_out: float32[24])
  for i0 < 3:
    for i1 < 2:
      for i2 < 4:
        k1_out[i0*8 + i1*4 + i2] = exp(x[i1*12 + i0*4 + i2])
kernel k2(k1_out: float32[24], k2_out: float32[3])
  for i0 < 3:
    r0 = 0.0
    for j1 < 8:
      r0 += k1_out[i0*8 + j1]
    k2_out[i0] = r0
""",
    )


def test_what_is_computed_is_stored_before_it_is_padded() -> None:
    x = parameter("x", 3, 4)
    results = [apply("negate", pad(apply("exp", x), (0, 1), (0, 1), 0.0))]
    fuses_to(
        results,
        """
%1 = exp: stored by k1, what is computed is padded
%3 = negate: stored by k2, it is a result
k1: x -> %1
k2: %1 -> %3

kernel k1(x: float32[12], k1_out: float32[12])
  for i0 < 3:
    for i1 < 4:
      k1_out[i0*4 + i1] = exp(x[i0*4 + i1])
kernel k2(k1_out: float32[12], k2_out: float32[18])
  for i0 < 3:
    for i1 < 6:
      k2_out[i0*6 + i1] = -(k1_out[i0*4 + i1 - 1] if 0 <= i1 - 1 < 4 else 0.0)
""",
    )


def test_an_input_is_padded_where_it_is_read() -> None:
    x = parameter("x", 3, 4)
    results = [apply("negate", pad(x, (0, 1), (0, 1), 0.0))]
    fuses_to(
        results,
        """
%2 = negate: stored by k1, it is a result
k1: x -> %2

kernel k1(x: float32[12], k1_out: float32[18])
  for i0 < 3:
    for i1 < 6:
      k1_out[i0*6 + i1] = -(x[i0*4 + i1 - 1] if 0 <= i1 - 1 < 4 else 0.0)
""",
    )


def test_a_gather_reads_what_is_computed_at_the_places_it_needs() -> None:
    x, places = parameter("x", N, 8), parameter("places", 5, dtype=DType.INT64)
    rows = expand(reshape(places, (5, 1)), (5, 8))
    results = [apply("exp", gather(apply("add", x, x), (rows, 1), (5, 8)))]
    fuses_to(
        results,
        """
%1 = add: fused into k1
%5 = gather: fused into k1
%6 = exp: stored by k1, it is a result
k1: places, x -> %6

kernel k1(x: float32[8*n], places: int64[5], k1_out: float32[40])
  for i0 < 5:
    for i1 < 8:
      t0 = x[checked(places[i0] < n)*8 + i1]
      k1_out[i0*8 + i1] = exp(t0 + t0)
""",
    )


def test_a_concatenation_is_one_kernel_with_a_nest_for_each_part() -> None:
    x = parameter("x", N, 8)
    results = [apply("exp", concat([apply("exp", x), apply("negate", x)], 1))]
    fuses_to(
        results,
        """
%1 = exp: fused into k1
%2 = negate: fused into k1
%3 = concat: stored by k1, tensors joined are stored
%4 = exp: stored by k2, it is a result
k1: x -> %3
k2: %3 -> %4

kernel k1(x: float32[8*n], k1_out: float32[16*n])
  for i0 < n:
    for i1 < 8:
      k1_out[i0*16 + i1] = exp(x[i0*8 + i1])
  for i0 < n:
    for i1 < 8:
      k1_out[i0*16 + i1 + 8] = -x[i0*8 + i1]
kernel k2(k1_out: float32[16*n], k2_out: float32[16*n])
  for i0 < n:
    for i1 < 16:
      k2_out[i0*16 + i1] = exp(k1_out[i0*16 + i1])
""",
    )


def test_running_totals_are_stored() -> None:
    x = parameter("x", N, 8)
    results = [apply("exp", scan("add", x, 1))]
    fuses_to(
        results,
        """
%1 = scan: stored by k1, running totals are stored
%2 = exp: stored by k2, it is a result
k1: x -> %1
k2: %1 -> %2

kernel k1(x: float32[8*n], k1_out: float32[8*n])
  for i0 < n parallel:
    total = 0.0
    for i1 < 8:
      total += x[i0*8 + i1]
      k1_out[i0*8 + i1] = total
kernel k2(k1_out: float32[8*n], k2_out: float32[8*n])
  for i0 < n:
    for i1 < 8:
      k2_out[i0*8 + i1] = exp(k1_out[i0*8 + i1])
""",
    )


def test_a_scatter_copies_and_then_writes_at_computed_places() -> None:
    x, places = parameter("x", 9, 8), parameter("places", 5, dtype=DType.INT64)
    rows = expand(reshape(places, (5, 1)), (5, 8))
    results = [scatter(x, parameter("updates", 5, 8), (rows, 1))]
    fuses_to(
        results,
        """
%5 = scatter: stored by k1, it is a result
k1: x, places, updates -> %5

kernel k1_copy(x: float32[72], k1_out: float32[72])
  for i0 < 9:
    for i1 < 8:
      k1_out[i0*8 + i1] = x[i0*8 + i1]
kernel k1(places: int64[5], updates: float32[40], k1_out: float32[72])
  for i0 < 5:
    for i1 < 8 parallel:
      k1_out[checked(places[i0] < 9)*8 + i1] = updates[i0*8 + i1]
""",
    )


def test_attention_is_one_kernel_and_its_scores_are_never_stored() -> None:
    query, key, value = (parameter(name, 2, 16, 8) for name in ("query", "key", "value"))
    scores = contract(query, key, "bmd,btd->bmt")
    powers = apply("exp", apply("subtract", scores, reduce_("maximum", scores, (2,))))
    shares = apply("divide", powers, reduce_("add", powers, (2,)))
    results = [apply("multiply", contract(shares, value, "bmt,btn->bmn"), 2.0)]
    fuses_to(
        results,
        """
%3 = contract: fused into k1
%4 = reduce maximum: fused into k1
%6 = subtract: fused into k1
%7 = exp: fused into k1
%8 = reduce add: fused into k1
%10 = divide: fused into k1
%12 = contract: fused into k1
%15 = multiply: stored by k1, it is a result
k1: query, key, value -> %15, attention

kernel k1(value: float32[256], key: float32[256], query: float32[256], k1_out: float32[256])
  attend batch b<2, m m<16, n n<8:
    sum = over depth<8: query[b*128 + m*8 + depth] * key[b*128 + t*8 + depth]
    total = over t<16: weight of sum
    read = over t<16: weight * value[b*128 + t*8 + n]
    k1_out[b*128 + m*8 + n] = read / total * 2.0
""",
    )


def test_few_filters_of_an_image_in_order_are_rows_and_its_places_columns() -> None:
    image = parameter("image", 2, 4, 6)
    product = permute(contract(image, weights(4, 5), "nch,co->nho"), (0, 2, 1))
    fuses_to(
        [apply("exp", product)],
        """
%3 = contract: fused into k1
%5 = exp: stored by k1, it is a result
k1: %2, image -> %5, contraction with epilogue permute and exp

kernel k1(image: float32[48], c1: float32[20], k1_out: float32[60])
  product batch n<2, m o<5, n h<6:
    sum = over c<4: c1[c*5 + o] * image[n*24 + c*6 + h]
    k1_out[n*30 + o*6 + h] = exp(sum)
""",
    )


def test_groups_of_filters_are_joined_in_an_epilogue() -> None:
    image = parameter("image", 1, 6, 20)
    seen = window(pad(permute(image, (0, 2, 1)), (0, 1, 0), (0, 1, 0), 0.0), [1], [3], [1], [1])
    sums = contract(reshape(seen, (1, 20, 2, 3, 3)), weights(2, 4, 3, 3), "nugcj,gocj->nugo")
    fuses_to(
        [apply("exp", permute(reshape(sums, (1, 20, 8)), (0, 2, 1)))],
        """
%2 = pad: stored by k1 as [0, 2, 1], windows slide over it
%8 = contract: fused into k2
%12 = exp: stored by k2, it is a result
k1: image -> %2
k2: %6, %2 -> %12, contraction with epilogue permute and reshape and permute and exp

kernel k1(image: float32[120], k1_out: float32[132])
  for i2 < 6:
    for i1 < 22:
      k1_out[i1 + i2*22] = image[i2*20 + i1 - 1] if 0 <= i1 - 1 < 20 else 0.0
kernel k2(k1_out: float32[132], c1: float32[72], k2_out: float32[160])
  product batch g<2, m o<4, n u<20:
    sum = over c<3 j<3: c1[g*36 + o*9 + c*3 + j] * k1_out[u + j + g*66 + c*22]
    k2_out[g*80 + o*20 + u] = exp(sum)
""",
    )


def test_what_follows_a_convolution_lies_as_it_does() -> None:
    image = parameter("image", 2, 4, 6)
    product = permute(contract(image, weights(4, 16), "nch,co->nho"), (0, 2, 1))
    shared = apply("exp", product)
    results = [reduce_("add", shared, (2,)), reduce_("add", shared, (1,))]
    fuses_to(
        results,
        """
%3 = contract: fused into k1
%5 = exp: stored by k1 as [0, 2, 1], it ends a contraction
%6 = reduce add: stored by k2, it is a result
%7 = reduce add: stored by k3, it is a result
k1: image -> %5, contraction with epilogue permute and exp
k2: %5 -> %6
k3: %5 -> %7

kernel k1(k1_weights: float32[64], image: float32[48], k1_out: float32[192])
  product m n<2 h<6, n o<16:
    sum = over c<4: image[n*24 + c*6 + h] * k1_weights[0] packed
    k1_out[n*96 + o + h*16] = exp(sum)
kernel k2(k1_out: float32[192], k2_out: float32[32])
  for i0 < 2:
    for i1 < 16:
      r0 = 0.0
      for j2 < 6:
        r0 += k1_out[i0*96 + i1 + j2*16]
      k2_out[i0*16 + i1] = r0
kernel k3(k1_out: float32[192], k3_out: float32[12])
  for i0 < 2:
    for i2 < 6:
      r0 = 0.0
      for j1 < 16:
        r0 += k1_out[i0*96 + j1 + i2*16]
      k3_out[i0*6 + i2] = r0
""",
    )


def test_each_body_of_a_branch_stores_into_the_same_memory() -> None:
    x, condition = parameter("x", N, 8), parameter("condition", dtype=DType.BOOL)
    results = branch(condition, [apply("exp", x)], [apply("negate", x)])
    fuses_to(
        results,
        """
%2 = exp: fused into k1
%3 = assume shape: stored by k1, what a branch gives is stored
%4 = negate: fused into k2
%5 = assume shape: stored by k2, what a branch gives is stored
%6 = region result: in b1
if1 condition:
  k1: x -> %3
else:
  k2: x -> %5

kernel k1(x: float32[8*n], b1: float32[8*n])
  for i0 < n:
    for i1 < 8:
      b1[i0*8 + i1] = exp(x[i0*8 + i1])
kernel k2(x: float32[8*n], b1: float32[8*n])
  for i0 < n:
    for i1 < 8:
      b1[i0*8 + i1] = -x[i0*8 + i1]
""",
    )


def test_a_loop_swaps_its_states_and_what_is_invariant_is_stored_before_it() -> None:
    start, weight = parameter("start", 6, 8), parameter("weight", 8, 8)

    def body(_: Tensor, states: tuple[Tensor, ...]) -> tuple[list[Tensor], list[Tensor]]:
        gates = apply("add", contract(states[0], weight, "mk,kn->mn"), apply("exp", start))
        return [apply("tanh", gates)], [apply("negate", states[0])]

    (last,), (rows,) = repeat(10, [start], body)
    results = [last, rows]
    fuses_to(
        results,
        """
%1 = assume shape: stored by k1, a loop begins with it
%4 = contract: fused into k3
%5 = exp: stored by k2, every run of a loop would compute it again
%6 = add: fused into k3
%7 = tanh: stored by k3, the next run of the loop reads it
%8 = negate: fused into k4
%9 = assume shape: stored by k4, what is kept of each run is stored
%10 = region result: in b2
%11 = region result: in b1
k1: start -> %1
k2: start -> %5
loop1:
  k3: %2, %5, weight -> %7, contraction with epilogue add and tanh
  k4: %2 -> %9
k5: %10 -> b2

kernel k1(start: float32[48], k1_out: float32[48])
  for i0 < 6:
    for i1 < 8:
      k1_out[i0*8 + i1] = start[i0*8 + i1]
kernel k2(start: float32[48], k2_out: float32[48])
  for i0 < 6:
    for i1 < 8:
      k2_out[i0*8 + i1] = exp(start[i0*8 + i1])
kernel k3(k2_out: float32[48], weight: float32[64], k1_out: float32[48], k3_out: float32[48])
  product m m<6, n n<8:
    sum = over k<8: k1_out[m*8 + k] * weight[k*8 + n]
    k3_out[m*8 + n] = tanh(sum + k2_out[m*8 + n])
kernel k4(loop1_number: int64[1], k1_out: float32[48], b1: float32[480])
  for i0 < 6:
    for i1 < 8:
      b1[i0*8 + i1 + loop1_number[0]*48] = -k1_out[i0*8 + i1]
kernel k5(k1_out: float32[48], b2: float32[48])
  for i0 < 6:
    for i1 < 8:
      b2[i0*8 + i1] = k1_out[i0*8 + i1]
""",
    )


def test_a_convolution_with_one_filter_is_a_sum_where_its_input_lies() -> None:
    x = parameter("x", 4, 10, 10)
    seen = window(x, (1, 2), (3, 3), (1, 1), (1, 1))
    y = contract(seen, weights(1, 4, 3, 3), "cuvij,ocij->uvo")
    fuses_to(
        [apply("maximum", permute(y, (2, 0, 1)), 0.0)],
        """
%5 = multiply: fused into k1
%6 = reduce add: fused into k1
%11 = maximum: stored by k1, it is a result
k1: x, %3 -> %11

kernel k1(c1: float32[36], x: float32[400], k1_out: float32[64])
  for i1 < 8:
    for i2 < 8:
      r0 = 0.0
      for j2 < 4:
        for j3 < 3:
          for j4 < 3:
            r0 += x[j2*100 + i1*10 + j3*10 + i2 + j4] * c1[j2*9 + j3*3 + j4]
      k1_out[i1*8 + i2] = maximum(r0, 0.0)
""",
    )
