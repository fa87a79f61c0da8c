-- What search can find. A space is a scope's shape; its number stands before each word in `words`, so that a search
-- reads the words of its own scope only, and counts only those.
CREATE TABLE spaces(
  id INTEGER PRIMARY KEY, scope TEXT NOT NULL, shape TEXT NOT NULL,
  docs INTEGER NOT NULL, length INTEGER NOT NULL, -- of the docs that words can find
  reached INTEGER NOT NULL DEFAULT 0, -- the rev up to which cells were indexed, where that is done later
  UNIQUE(scope, shape)
) STRICT;

-- A doc is the searchable side of a cell. text has the words of each field, a line a field.
CREATE TABLE docs(
  id INTEGER PRIMARY KEY AUTOINCREMENT, -- no number comes twice, because readers keep vectors by it
  space INTEGER NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, "group" TEXT,
  marks TEXT NOT NULL, text TEXT, length INTEGER NOT NULL, hash BLOB NOT NULL,
  model TEXT -- that made its newest vector
) STRICT;
CREATE UNIQUE INDEX docs_key ON docs(space, key);
CREATE INDEX docs_at ON docs(space, at);
CREATE INDEX docs_group ON docs(space, "group", at) WHERE "group" IS NOT NULL;

CREATE INDEX docs_model ON docs(model) WHERE text IS NOT NULL AND hash <> x''; -- of those that get vectors

CREATE TABLE marks(
  space INTEGER NOT NULL, mark TEXT NOT NULL, doc INTEGER NOT NULL, PRIMARY KEY(space, mark, doc)
) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE words USING fts5(stems, content='', contentless_delete=1, detail=none, tokenize='ascii');
CREATE VIRTUAL TABLE words_count USING fts5vocab(words, row);

-- seq only grows, so that a reader who keeps vectors in memory asks for what is new.
CREATE TABLE vectors(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, doc INTEGER NOT NULL, space INTEGER NOT NULL, model TEXT NOT NULL,
  data BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX vectors_doc ON vectors(doc, model);
CREATE INDEX vectors_space ON vectors(space, model, seq);

CREATE VIEW records AS
  SELECT scope, key AS id, value ->> 'kind' AS kind, coalesce(value ->> 'status', 'active') AS status,
    value ->> 'title' AS title, value ->> 'content' AS content, value ->> 'tags' AS tags, version, rev,
    strftime('%Y-%m-%dT%H:%M:%fZ', created / 1e6, 'unixepoch') AS created_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated / 1e6, 'unixepoch') AS updated_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', expires / 1e6, 'unixepoch') AS expires_at, "by" AS written_by
  FROM (SELECT scope, key, CAST(value AS TEXT) AS value, version, rev, created, updated, expires, "by"
    FROM cells WHERE shape = 'record' AND value IS NOT NULL
      AND (expires IS NULL OR expires > CAST((julianday('now') - 2440587.5) * 86400e6 AS INTEGER)));
