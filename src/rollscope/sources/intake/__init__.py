"""What importers share: finding the source, gathering rows, guessing the framework, writing the run.

Door: `importer` (`rollscope import`); sources use `gather`, `guess`, `tables`.
"""
