import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

interface Key {
  bytes: Buffer;
  prefix: string;
}

const MARK = 'sealed:';
const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export type SecretBox = ReturnType<typeof createSecretBox>;

/**
 * Encrypts stored secrets that the service has to use again (AES-256-GCM).
 * @param keys the keys of the setting SECRET_KEY: the first one seals, and all of them open.
 */
export function createSecretBox(keys: readonly string[] = []) {
  const known = keys.map(keyOf);
  const [first] = known;
  return {
    /** The beginning of what `seal` returns; null without a key: secrets are stored as they are. */
    prefix: first?.prefix ?? null,
    /** Returns the stored form of a secret. @param purpose what the secret is for; it opens for the same purpose only. */
    seal: (secret: string, purpose: string): string => (first ? seal(first, secret, purpose) : secret),
    /** Returns the secret; null if it was sealed with an unknown key, or for another purpose. */
    open(stored: string, purpose: string): string | null {
      if (!stored.startsWith(MARK)) return stored;
      const key = known.find(({ prefix }) => stored.startsWith(prefix));
      return key ? open(key, stored, purpose) : null;
    },
  };
}

function keyOf(setting: string): Key {
  const bytes = Buffer.from(hkdfSync('sha256', setting, '', 'souk secrets at rest', 32));
  const id = createHash('sha256').update(bytes).digest('hex').slice(0, 8);
  return { bytes, prefix: `${MARK}${id}:` };
}

function seal({ bytes, prefix }: Key, secret: string, purpose: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, bytes, nonce).setAAD(Buffer.from(purpose));
  const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  return prefix + Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
}

function open({ bytes, prefix }: Key, stored: string, purpose: string): string | null {
  const parts = Buffer.from(stored.slice(prefix.length), 'base64');
  const nonce = parts.subarray(0, NONCE_BYTES);
  const tag = parts.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  try {
    const decipher = createDecipheriv(ALGORITHM, bytes, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(purpose)).setAuthTag(tag);
    const secret = decipher.update(parts.subarray(NONCE_BYTES + TAG_BYTES));
    return Buffer.concat([secret, decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}
