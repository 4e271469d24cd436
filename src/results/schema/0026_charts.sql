-- Links that show a chart with the figures of its moment without an account. Only the digest of the token in their address is stored.
create table chart_links (
  id uuid primary key,
  account_id bigint not null references accounts,
  -- The person who created it; it ends with the membership.
  person_id bigint not null references people on delete cascade,
  token_hash bytea not null unique,
  title text not null,
  -- What the page shows, as JSON.
  content text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);

create index chart_links_account on chart_links (account_id, id);
create index chart_links_person on chart_links (person_id);
create index chart_links_expiry on chart_links (expires_at);

-- Calls of at most these units are made without showing their cost first; 0: the cost of every call is shown.
alter table people add column direct_units integer not null default 0 check (direct_units between 0 and 100);
