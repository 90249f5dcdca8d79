-- SPDX-License-Identifier: MIT
-- A PostgreSQL table that refuses a late writer, by the fencing token of a lock:
--
--     redlock run --guard=require --fence report -- sh -c \
--         'psql -v fence="$REDLOCK_FENCE" -v state=done -f fence.sql'
--
-- `fence` is a column of the row that is guarded, so that one statement checks and writes. A holder that begins to
-- read presents its number first (the insert): from then on the one before it is refused.
\set ON_ERROR_STOP on

CREATE TABLE IF NOT EXISTS report (id int PRIMARY KEY, fence bigint NOT NULL, state text);

BEGIN;
INSERT INTO report VALUES (1, :fence)
	ON CONFLICT (id) DO UPDATE SET fence = excluded.fence WHERE report.fence <= excluded.fence;
UPDATE report SET state = :'state' WHERE id = 1 AND fence = :fence RETURNING 'written by ' || fence;
SELECT :ROW_COUNT = 0 AS late \gset
COMMIT;

\if :late
	\warn refused: :fence is late
	SELECT 1 / 0 AS refused; -- psql ends with 3
\endif
