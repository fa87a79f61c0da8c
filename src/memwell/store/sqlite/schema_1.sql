-- A cell's row outlives its value: value NULL is a tombstone that keeps the version counter.
-- WITHOUT ROWID: one descent finds a key, and a listing reads neighbours.
CREATE TABLE cells(
  scope TEXT NOT NULL, shape TEXT NOT NULL, key TEXT NOT NULL,
  version INTEGER NOT NULL, rev INTEGER NOT NULL,
  created INTEGER NOT NULL, updated INTEGER NOT NULL, expires INTEGER,
  "by" TEXT NOT NULL, op TEXT NOT NULL, digest BLOB NOT NULL, value BLOB,
  PRIMARY KEY(scope, shape, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX cells_expires ON cells(expires) WHERE expires IS NOT NULL;

-- One row a write, in commit order. prev is the rev of the same cell's write before: history is a walk along it,
-- which saves an index that every write would have to keep.
CREATE TABLE events(
  rev INTEGER PRIMARY KEY,
  scope TEXT NOT NULL, shape TEXT NOT NULL, key TEXT NOT NULL,
  version INTEGER NOT NULL, prev INTEGER,
  created INTEGER NOT NULL, at INTEGER NOT NULL, expires INTEGER,
  "by" TEXT NOT NULL, op TEXT NOT NULL, digest BLOB NOT NULL, value BLOB
) STRICT;
CREATE INDEX events_expires ON events(expires) WHERE expires IS NOT NULL AND value IS NOT NULL;

-- What outlives the rows of a scope: the highest version, the newest rev and the latest time that were forgotten.
CREATE TABLE scopes(
  scope TEXT PRIMARY KEY, floor INTEGER NOT NULL, horizon INTEGER NOT NULL, horizon_at INTEGER NOT NULL,
  deleted INTEGER, -- the rev of the event that says when the scope was deleted
  digest BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- The event is written by the statement that writes the cell, so that one autocommit statement is a whole write.
CREATE TRIGGER cells_insert AFTER INSERT ON cells BEGIN
  INSERT INTO events VALUES(new.rev, new.scope, new.shape, new.key, new.version, NULL,
    new.created, new.updated, new.expires, new."by", new.op, new.digest, new.value);
END;
CREATE TRIGGER cells_update AFTER UPDATE ON cells WHEN new.rev <> old.rev BEGIN
  INSERT INTO events VALUES(new.rev, new.scope, new.shape, new.key, new.version, old.rev,
    new.created, new.updated, new.expires, new."by", new.op, new.digest, new.value);
END;

-- For people who open the file.
CREATE VIEW facts AS
  SELECT scope, key, CAST(value AS TEXT) AS value, version, rev,
    strftime('%Y-%m-%dT%H:%M:%fZ', created / 1e6, 'unixepoch') AS created_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated / 1e6, 'unixepoch') AS updated_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', expires / 1e6, 'unixepoch') AS expires_at, "by" AS written_by
  FROM cells WHERE shape = 'fact' AND value IS NOT NULL
    AND (expires IS NULL OR expires > CAST((julianday('now') - 2440587.5) * 86400e6 AS INTEGER));
CREATE VIEW history AS
  SELECT rev, scope, shape, key, op, version,
    CASE WHEN expires <= CAST((julianday('now') - 2440587.5) * 86400e6 AS INTEGER) THEN NULL
      ELSE CAST(value AS TEXT) END AS value,
    strftime('%Y-%m-%dT%H:%M:%fZ', at / 1e6, 'unixepoch') AS at, "by"
  FROM events;
