"""Operators of object detection: regions and boxes."""
