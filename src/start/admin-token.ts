import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const FORM = /^[\w-]{16,100}$/;

/** The operator's token of this folder: made on the first start, the same ever after. Only its user can read it. */
export async function keepAdminToken(dataDir: string): Promise<string> {
  const file = join(dataDir, 'admin-token');
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (FORM.test(kept)) return kept;
  const token = randomBytes(18).toString('base64url');
  // The mode of a file that is there already would stay as it is.
  await rm(file, { force: true });
  await writeFile(file, `${token}\n`, { mode: 0o600 });
  return token;
}
