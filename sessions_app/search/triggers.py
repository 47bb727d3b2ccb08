"""The index `halo_search`: its tables and the triggers that keep it, in the dialect of each database.

What people and agents said is indexed in the transaction that stores it; a reply once its turn ends, however it ends,
so that the saves of a streaming reply cost nothing. Deleted rows leave the index with their entry. An index holds
grams of three characters, so parts of words and texts without spaces (Chinese) are found, too.

A migration that rebuilds the tables of entries or turns stands between `drop_triggers` and `create_triggers`
(docs/development.md): SQLite loses the triggers of a table that it rebuilds.
"""

from typing import Any

INDEXED = 100_000  # characters of one message
_KINDS = "'user', 'agent', 'assistant'"
_ENTRY, _TURN = "sessions_app_entry", "sessions_app_turn"
_OF_TURN = "e.turn_id = new.id AND e.kind = 'assistant' AND e.text <> ''"

_SQLITE_TABLES = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS halo_search USING fts5(text, tokenize = 'trigram', detail = none)",
    "CREATE VIRTUAL TABLE IF NOT EXISTS halo_search_grams USING fts5vocab(halo_search, row)",
)
_POSTGRES_TABLES = (
    # Three neighbours each; of Han and other dense scripts two as well, because most of their words have two.
    """
    CREATE OR REPLACE FUNCTION halo_grams(body text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT coalesce(array_agg(DISTINCT gram), '{}') FROM (
            SELECT unnest(ARRAY[a || b || c, CASE WHEN ascii(a) >= 11904 THEN a || b END]) AS gram FROM (
                SELECT ch AS a, lead(ch, 1) OVER place AS b, lead(ch, 2) OVER place AS c
                FROM unnest(string_to_array(lower(body), NULL)) WITH ORDINALITY AS chars(ch, at)
                WINDOW place AS (ORDER BY at)
            ) AS neighbours
        ) AS grams WHERE gram IS NOT NULL
    $$
    """,
    "CREATE TABLE IF NOT EXISTS halo_search (entry bigint PRIMARY KEY, grams text[] NOT NULL)",
    "CREATE INDEX IF NOT EXISTS halo_search_grams ON halo_search USING gin (grams)",
)


def _counts(row: str) -> str:
    """SQL: whether an entry belongs into the index now."""
    running = f"SELECT 1 FROM {_TURN} AS t WHERE t.id = {row}.turn_id AND t.status = 'running'"  # noqa: S608 - constants
    return f"{row}.kind IN ({_KINDS}) AND {row}.text <> '' AND ({row}.kind <> 'assistant' OR NOT EXISTS ({running}))"


def _fill(where: str, vendor: str) -> str:
    """SQL: index the entries `e` that match. An end of two line breaks lets the last characters begin a gram."""
    if vendor == "sqlite":
        into, text, again = "halo_search (rowid, text)", f"substr(e.text, 1, {INDEXED}) || char(10, 10)", ""
    else:
        into, text = "halo_search (entry, grams)", f"halo_grams(left(e.text, {INDEXED}))"
        again = " ON CONFLICT (entry) DO UPDATE SET grams = excluded.grams"
    return f"INSERT INTO {into} SELECT e.id, {text} FROM {_ENTRY} AS e WHERE {where}{again}"  # noqa: S608 - constants


def _sqlite_triggers() -> list[str]:
    this = _fill("e.id = new.id", "sqlite")
    of_turn = _fill(_OF_TURN, "sqlite")
    forget = "DELETE FROM halo_search WHERE rowid = old.id"
    forget_turn = f"DELETE FROM halo_search WHERE rowid IN (SELECT e.id FROM {_ENTRY} AS e WHERE {_OF_TURN})"  # noqa: S608 - constants
    return [
        f"CREATE TRIGGER halo_search_said AFTER INSERT ON {_ENTRY} WHEN {_counts('new')} BEGIN {this}; END",
        f"CREATE TRIGGER halo_search_edited AFTER UPDATE OF text ON {_ENTRY} "
        f"WHEN old.text <> new.text AND {_counts('new')} BEGIN {forget}; {this}; END",
        f"CREATE TRIGGER halo_search_gone AFTER DELETE ON {_ENTRY} BEGIN {forget}; END",
        f"CREATE TRIGGER halo_search_ended AFTER UPDATE OF status ON {_TURN} "
        f"WHEN old.status = 'running' AND new.status <> 'running' BEGIN {forget_turn}; {of_turn}; END",
    ]


def _postgres_triggers() -> list[str]:
    of_turn = _fill(_OF_TURN, "postgresql")
    this = _fill(f"e.id = new.id AND {_counts('e')}", "postgresql")
    bodies = {
        "keep": f"{this}; RETURN NULL;",
        "forget": "DELETE FROM halo_search WHERE entry = old.id; RETURN NULL;",
        "turn": f"{of_turn}; RETURN NULL;",
    }
    functions = [
        f"CREATE OR REPLACE FUNCTION halo_search_{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$"
        for name, body in bodies.items()
    ]
    each = "FOR EACH ROW"
    return [
        *functions,
        f"CREATE TRIGGER halo_search_said AFTER INSERT ON {_ENTRY} {each} "
        f"WHEN (new.kind IN ({_KINDS}) AND new.text <> '') EXECUTE FUNCTION halo_search_keep()",
        f"CREATE TRIGGER halo_search_edited AFTER UPDATE OF text ON {_ENTRY} {each} "
        f"WHEN (old.text <> new.text AND new.kind IN ({_KINDS})) EXECUTE FUNCTION halo_search_keep()",
        f"CREATE TRIGGER halo_search_gone AFTER DELETE ON {_ENTRY} {each} EXECUTE FUNCTION halo_search_forget()",
        f"CREATE TRIGGER halo_search_ended AFTER UPDATE OF status ON {_TURN} {each} "
        "WHEN (old.status = 'running' AND new.status <> 'running') EXECUTE FUNCTION halo_search_turn()",
    ]


_TRIGGERS = {f"halo_search_{name}": _ENTRY for name in ("said", "edited", "gone")} | {"halo_search_ended": _TURN}


def create_tables(apps: Any, editor: Any) -> None:
    """For `RunPython`: the empty index."""
    for sql in _SQLITE_TABLES if editor.connection.vendor == "sqlite" else _POSTGRES_TABLES:
        editor.execute(sql)


def drop_tables(apps: Any, editor: Any) -> None:
    editor.execute("DROP TABLE IF EXISTS halo_search_grams" if editor.connection.vendor == "sqlite" else "SELECT 1")
    editor.execute("DROP TABLE IF EXISTS halo_search")


def create_triggers(apps: Any, editor: Any) -> None:
    """For `RunPython`: keep the index from now on, and take up what is not in it yet."""
    vendor = editor.connection.vendor
    drop_triggers(apps, editor)
    for sql in _sqlite_triggers() if vendor == "sqlite" else _postgres_triggers():
        editor.execute(sql, params=None)
    key = "rowid" if vendor == "sqlite" else "entry"
    missing = f"e.id NOT IN (SELECT {key} FROM halo_search) AND {_counts('e')}"  # noqa: S608 - constants
    editor.execute(_fill(missing, vendor), params=None)


def drop_triggers(apps: Any, editor: Any) -> None:
    """For `RunPython`: before a migration that rebuilds the tables they hang on."""
    for name, table in _TRIGGERS.items():
        on = "" if editor.connection.vendor == "sqlite" else f" ON {table}"
        editor.execute(f"DROP TRIGGER IF EXISTS {name}{on}")
