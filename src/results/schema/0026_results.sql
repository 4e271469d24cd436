-- Files: results that are too large for an answer, and results of batches that a client reads in ranges.

-- What files hold. Files of several accounts have one content, if they hold the same.
create table file_contents (
  id uuid primary key,
  -- Identifies what it holds. Several processes may write a content with one key at the same time; one of them completes it.
  key text not null,
  state text not null default 'writing' check (state in ('writing', 'complete')),
  content_type text not null,
  -- Whether the pieces are compressed, each as one gzip member.
  is_gzip boolean not null,
  -- Bytes of the content, and of its pieces as they are stored.
  size bigint not null default 0,
  stored_bytes bigint not null default 0,
  -- What the writer noted, such as the number of rows.
  facts jsonb not null default '{}',
  -- When it was completed or, before, when a piece was last written.
  written_at timestamptz not null
);

create unique index file_contents_key on file_contents (key) where state = 'complete';
create index file_contents_writing on file_contents (written_at) where state = 'writing';

-- Pieces of one size, except the last one, so that the pieces of a range are known.
create table file_pieces (
  content_id uuid not null references file_contents on delete cascade,
  number integer not null,
  bytes bytea not null,
  primary key (content_id, number)
);

alter table file_pieces alter column bytes set storage external;

create table files (
  id uuid primary key,
  account_id bigint not null references accounts,
  content_id uuid not null references file_contents,
  -- The operation that it is a result of.
  operation text not null,
  -- The job or batch that it is a result of. An account has one file of a job or batch with a content.
  origin_id uuid not null,
  name text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  unique (account_id, origin_id, content_id)
);

create index files_account on files (account_id, id);
create index files_content on files (content_id);
create index files_expiry on files (expires_at);

-- Links that open one result without a key. Only the digest of the token in their address is stored.
create table result_links (
  id uuid primary key,
  account_id bigint not null references accounts,
  token_hash bytea not null unique,
  -- The key that created the link, which ends with the key; null: the pages.
  key_id bigint references api_keys (id) on delete cascade,
  -- The person who created it on the pages; it ends with the membership.
  person_id bigint references people on delete cascade,
  -- The result: of a job or batch, or a file.
  target text not null check (target in ('job', 'batch', 'file')),
  target_id uuid not null,
  operation text not null,
  format text,
  -- The name of the file.
  name text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  opens bigint not null default 0,
  last_opened_at timestamptz
);

create index result_links_account on result_links (account_id, id);
create index result_links_key on result_links (key_id);
create index result_links_person on result_links (person_id);
create index result_links_expiry on result_links (expires_at);

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
