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

/** The least that a durable step of a call can be: one prepared UPDATE of one row. @returns whether there was a row. */
export async function updateBareAccount(database: pg.Pool, id: number): Promise<boolean> {
  const { rowCount } = await database.query({
    name: 'bare-update',
    text: 'update bare set used = used + 1 where id = $1 returning used',
    values: [id],
  });
  return rowCount === 1;
}
