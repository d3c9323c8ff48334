"""Readers of other people's file formats, without their libraries.

`event`, `crc32c` (TensorBoard), `leveldb` (W&B, SwanLab), `wire` (protocol buffers), `sqlite`,
`jsonlist`. Promises: a damaged part loses only itself, and the files are never changed.
"""
