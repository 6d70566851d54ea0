"""The rules by family; every module here is imported when the first estimator is converted."""
