-- The admission policies that were last proven to act. One row at most, not derived from resources: decisions count
-- because of it. `gap_since` is the time since when policies were found missing, changed or not acting.
create table approval_enforcement (
  one             boolean     primary key default true check (one),
  identities      jsonb       not null,
  gap_since       timestamptz,
  statuses_agree  boolean     not null
);
