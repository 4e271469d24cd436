import type { SecretBox } from '../secret-box.ts';
import type { Database } from './pool.ts';
import { allRows } from './rows.ts';

const AT_ONCE = 1_000;

/**
 * Encrypts the secrets of a column with the first key of the box: those from before SECRET_KEY was set, and those of an earlier key.
 * A secret that no key opens stays as it is. Several processes may do so at the same time.
 * @param subject SQL of what `purposeOf` makes the purpose of a secret from.
 */
export async function sealColumn<Subject>(
  database: Database,
  box: SecretBox,
  { table, column, subject }: { table: string; column: string; subject: string },
  purposeOf: (subject: Subject) => string,
): Promise<void> {
  if (box.prefix === null) return;
  for (let after = '(0,0)'; ; ) {
    const rows = await allRows<{ place: string; secret: string; subject: Subject }>(
      database,
      `select ctid::text as place, ${column} as secret, ${subject} as subject from ${table}
       where ctid > $1::tid and ${column} is not null and not starts_with(${column}, $2) order by ctid limit ${AT_ONCE}`,
      [after, box.prefix],
    );
    for (const { place, secret, subject } of rows) {
      const opened = box.open(secret, purposeOf(subject));
      if (opened === null) continue;
      // A row that another process has changed meanwhile has another place.
      await database.query(`update ${table} set ${column} = $3 where ctid = $1::tid and ${column} = $2`, [
        place,
        secret,
        box.seal(opened, purposeOf(subject)),
      ]);
    }
    const last = rows.at(-1);
    if (!last || rows.length < AT_ONCE) return;
    after = last.place;
  }
}
