import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const FORM = /^[\w-]{16,100}$/;

/** Returns the folder's operator token, which the first start generates. Only the file's owner can read it. */
export async function ensureAdminToken(dataDir: string): Promise<string> {
  const file = join(dataDir, 'admin-token');
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (FORM.test(kept)) return kept;
  const token = randomBytes(18).toString('base64url');
  // Writing to an existing file would keep its mode.
  await rm(file, { force: true });
  await writeFile(file, `${token}\n`, { mode: 0o600 });
  return token;
}
