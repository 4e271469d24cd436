import type pg from 'pg';

/** Rows of the table `bare`, one for each account. */
export const BARE_ACCOUNTS = 1000;

export async function createBareAccounts(database: pg.Pool): Promise<void> {
  await database.query(
    'create table if not exists bare (id integer primary key, used bigint not null) with (fillfactor = 50)',
  );
  await database.query(
    'insert into bare select id, 0 from generate_series(1, $1) as id on conflict do nothing',
    [BARE_ACCOUNTS],
  );
}

/** Creates the table of the calls that `bookBareCall` and `bookInTransaction` write. */
export async function createBareCalls(database: pg.Pool): Promise<void> {
  await createBareAccounts(database);
  await database.query(
    `create table if not exists bare_calls (
       id bigint generated always as identity primary key, account integer not null, at timestamptz not null default now())`,
  );
}

const UPDATE = 'update bare set used = used + 1 where id = $1';
const INSERT = 'insert into bare_calls (account) values ($1)';

/** Books a call in the plainest durable way: one prepared statement with one UPDATE and one INSERT, and its own commit. */
export async function bookBareCall(database: pg.Pool, id: number): Promise<void> {
  await database.query({ name: 'bare-book', text: `with used as (${UPDATE}) ${INSERT}`, values: [id] });
}

/** Books a call as most programs do: BEGIN, UPDATE, INSERT, COMMIT. */
export async function bookInTransaction(database: pg.Pool, id: number): Promise<void> {
  const connection = await database.connect();
  try {
    await connection.query('begin');
    await connection.query({ name: 'bare-used', text: UPDATE, values: [id] });
    await connection.query({ name: 'bare-call', text: INSERT, values: [id] });
    await connection.query('commit');
  } finally {
    connection.release();
  }
}

/** The least that a durable step of a call can be: one prepared UPDATE of one row. @returns whether there was a row. */
export async function updateBareAccount(database: pg.Pool, id: number): Promise<boolean> {
  const { rowCount } = await database.query({
    name: 'bare-update',
    text: 'update bare set used = used + 1 where id = $1 returning used',
    values: [id],
  });
  return rowCount === 1;
}
