"""The lake: the runs of a team in one place. DuckLake keeps the tables, an object store the files.

A run's folder is the spool. Shipping copies its files as objects, with checksums, and appends its
rows to tables, both in one transaction. So a push that is killed anywhere and repeated adds nothing
twice. Reading fetches what is read into a cache and opens it there like any other run. No
training process imports this room: shipping is a process of its own.

    place      `lake.toml`: where the catalogue and the objects are
    engine     DuckDB with DuckLake, attached to the catalogue; every failure becomes a sentence
    kept       connections that are kept between two uses
    objects    the object store: a folder, or S3
    tables     the tables and views of the lake
    ledger     what the lake holds of a run; commit a ship
    spool      the files of a run's folder that are shipped
    shipping/  ship one run, once or while it is recorded
    cache/     folders of runs here, whose files are fetched when they are first read
    said       what people say about runs
    reading    the runs of a lake, as the store shows the runs of a folder
    serving/   the tokens of a server over a lake, and runs that trainers ship through it
    check      compare every object with its checksum
    tidy       merge small files, remove what no run needs
    deletion   delete a run for good
    retention  let go of text and tokens by rule
    door       `open(path)` for a folder of runs or a lake
"""
