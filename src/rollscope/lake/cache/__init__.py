"""The local cache of a lake: folders of runs whose files are fetched when they are first read.

Whoever opens the cache of a lake, in any process, has its files fetched: `mirror.join`.

    mirror     what every reader of a run needs: facts, logs, and the manifests of its sets
    bringing   any other file of a set, when it is first read
    bound      remove the files that were not read for longest, once the cache is too large
    notes      ship what people write into runs here
    mirroring  keep the folders equal to the lake, for a server
"""
