import type { Queryable } from '../platform/db/pool.ts';
import { ACCOUNT_COLUMNS, type Account } from './accounts.ts';
import { keyPrefix } from './keys.ts';

/**
 * Finds live accounts by a part of the e-mail address or name, by number, or by the start of a key, live or test. An empty text matches
 * all accounts. Returns the newest first. @param before the last account of the previous page.
 */
export async function searchAccounts(
  database: Queryable,
  { text, before, limit }: { text: string; before: number | null; limit: number },
): Promise<Account[]> {
  const { rows } = await database.query<Account>(
    `select ${ACCOUNT_COLUMNS} from accounts
     where ($1 = '' or strpos(email, lower($1)) > 0 or strpos(lower(name), lower($1)) > 0 or id::text = $1
         or ($2::text is not null and id in (
           select coalesce(a.live_account_id, a.id) from api_keys k join accounts a on a.id = k.account_id
           where k.purpose = 'customer' and starts_with(k.prefix, $2))))
       and live_account_id is null
       and ($3::bigint is null or id < $3)
     order by id desc limit $4`,
    [text, keyPrefixIn(text), before, limit],
  );
  return rows;
}

/** The stored start of a key. A search text may be the start of a key or the whole key. */
function keyPrefixIn(text: string): string | null {
  return /^km_(?:test_)?[A-Za-z0-9]+$/.test(text) ? keyPrefix(text) : null;
}
