"""Operators on images: decoding, resampling, cropping."""
