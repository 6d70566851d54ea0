"""Operators that a model of ONNX cannot express, with the reason."""

from __future__ import annotations

_RANDOM = "draws random numbers, which two engines draw differently"
_FILES = "reads or writes files, which a model does not"
_PYTHON = "calls back into Python"
_ASSIGNS = "changes a variable; a model of ONNX keeps nothing from one call to the next"
_HASH = "hashes strings, for which ONNX has no operator"
_CTC = "searches sequences, for which ONNX has no operator"
_LINEAR = "factors matrices, for which ONNX has no operator"
_TF1 = "is control flow of TensorFlow 1; functions of TensorFlow 2 use If and While"
_IMAGE = "reads or writes image files; decode before the model"
_QUANTISED = "has quantised types of TensorFlow, which ONNX does not have"

REASONS: dict[str, str] = {
    **dict.fromkeys(
        [
            "RandomUniform",
            "RandomUniformInt",
            "RandomStandardNormal",
            "TruncatedNormal",
            "RandomShuffle",
            "Multinomial",
            "RandomGamma",
            "RandomPoissonV2",
            "ParameterizedTruncatedNormal",
            "StatelessRandomUniform",
            "StatelessRandomUniformV2",
            "StatelessRandomUniformInt",
            "StatelessRandomUniformIntV2",
            "StatelessRandomUniformFullInt",
            "StatelessRandomUniformFullIntV2",
            "StatelessRandomNormal",
            "StatelessRandomNormalV2",
            "StatelessTruncatedNormal",
            "StatelessTruncatedNormalV2",
            "StatelessMultinomial",
            "StatelessRandomGammaV2",
            "StatelessRandomGammaV3",
            "StatelessRandomBinomial",
            "StatelessRandomPoisson",
            "StatelessParameterizedTruncatedNormal",
            "StatelessRandomGetKeyCounter",
            "StatelessRandomGetAlg",
            "StatelessRandomGetKeyCounterAlg",
            "StatelessShuffle",
            "RngSkip",
            "RngReadAndSkip",
            "StatefulUniform",
            "StatefulUniformInt",
            "StatefulStandardNormalV2",
            "StatefulTruncatedNormal",
            "StatefulRandomBinomial",
            "SampleDistortedBoundingBox",
            "SampleDistortedBoundingBoxV2",
            "StatelessSampleDistortedBoundingBox",
            "LogUniformCandidateSampler",
            "UniformCandidateSampler",
            "RandomCrop",
        ],
        _RANDOM,
    ),
    **dict.fromkeys(
        [
            "ReadFile",
            "WriteFile",
            "MatchingFiles",
            "SaveV2",
            "Save",
            "SaveSlices",
            "RestoreV2",
            "Restore",
            "RestoreSlice",
            "MergeV2Checkpoints",
            "ShardedFilename",
            "TextLineDataset",
            "TFRecordDataset",
            "FixedLengthRecordDataset",
            "WholeFileReaderV2",
            "TextLineReaderV2",
            "TFRecordReaderV2",
            "InitializeTableFromTextFile",
            "InitializeTableFromTextFileV2",
        ],
        _FILES,
    ),
    **dict.fromkeys(("PyFunc", "PyFuncStateless", "EagerPyFunc", "NumpyFunction"), _PYTHON),
    **dict.fromkeys(
        [
            "AssignVariableOp",
            "AssignAddVariableOp",
            "AssignSubVariableOp",
            "ResourceScatterUpdate",
            "ResourceScatterAdd",
            "ResourceScatterSub",
            "ResourceScatterMul",
            "ResourceScatterDiv",
            "ResourceScatterMin",
            "ResourceScatterMax",
            "ResourceScatterNdUpdate",
            "ResourceScatterNdAdd",
            "ResourceScatterNdSub",
            "ResourceStridedSliceAssign",
            "Assign",
            "AssignAdd",
            "AssignSub",
            "ResourceApplyAdam",
            "ResourceApplyGradientDescent",
            "LookupTableInsertV2",
            "LookupTableRemoveV2",
            "LookupTableImportV2",
        ],
        _ASSIGNS,
    ),
    **dict.fromkeys(
        ["StringToHashBucketFast", "StringToHashBucketStrong", "StringToHashBucket", "Fingerprint", "SparseCross"],
        _HASH,
    ),
    **dict.fromkeys(["CTCGreedyDecoder", "CTCBeamSearchDecoder", "CTCLoss", "CTCLossV2"], _CTC),
    **dict.fromkeys(
        [
            "Cholesky",
            "Svd",
            "Qr",
            "SelfAdjointEigV2",
            "Eig",
            "Lu",
            "MatrixInverse",
            "MatrixSolve",
            "MatrixSolveLs",
            "MatrixTriangularSolve",
            "MatrixSquareRoot",
            "MatrixLogarithm",
            "MatrixExponential",
            "TridiagonalSolve",
            "BandedTriangularSolve",
        ],
        _LINEAR,
    ),
    **dict.fromkeys(["Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "RefSwitch", "RefMerge"], _TF1),
    **dict.fromkeys(
        [
            "DecodeJpeg",
            "DecodePng",
            "DecodeImage",
            "DecodeBmp",
            "DecodeGif",
            "DecodeWebP",
            "DecodeAndCropJpeg",
            "EncodeJpeg",
            "EncodePng",
            "ExtractJpegShape",
            "DecodeWav",
            "EncodeWav",
        ],
        _IMAGE,
    ),
    **dict.fromkeys(
        [
            "QuantizeV2",
            "Dequantize",
            "QuantizedMatMul",
            "QuantizedConv2D",
            "QuantizedRelu",
            "QuantizedAdd",
            "QuantizedMul",
            "UniformQuantize",
            "UniformDequantize",
            "UniformQuantizedDot",
            "Requantize",
            "QuantizeDownAndShrinkRange",
        ],
        _QUANTISED,
    ),
}
"""By operator, why it has no rule."""

ASSIGNS = frozenset(kind for kind, reason in REASONS.items() if reason == _ASSIGNS)
"""Operators whose effect outlasts the call; where a function has one, its results depend on earlier calls."""

TOUCHES = frozenset(kind for kind, reason in REASONS.items() if reason in (_FILES, _PYTHON))
"""Operators that reach outside the model."""
