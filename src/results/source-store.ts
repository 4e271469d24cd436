import type { Redis } from 'ioredis';
import { parseJson, stringifyJson } from '../json.ts';
import type { RedisKeys } from '../redis-keys.ts';
import { pack, unpack } from './compression.ts';

/** Raw data of one source, as upstream gave it. */
export interface StoredSource {
  /** Parsed JSON, or the bytes of a picture. */
  value: unknown;
  /** Unix milliseconds. */
  fetchedAt: number;
}

export interface SourceStore {
  get(identity: string): Promise<StoredSource | null>;
  put(identity: string, source: StoredSource, lifetimeMs: number): Promise<void>;
}

const JSON_PLAIN = 0;
const JSON_GZIP = 1;
const BYTES = 2;

export function createSourceStore(redis: Redis, keys: RedisKeys): SourceStore {
  return {
    async get(identity) {
      const bytes = await redis.getBuffer(keys.source(identity));
      return bytes ? decode(bytes) : null;
    },
    async put(identity, source, lifetimeMs) {
      await redis.set(keys.source(identity), await encode(source), 'PX', lifetimeMs);
    },
  };
}

/** Layout: time of fetching (8 bytes), kind (1 byte), content. */
async function encode({ value, fetchedAt }: StoredSource): Promise<Buffer> {
  const head = Buffer.alloc(9);
  head.writeDoubleBE(fetchedAt);
  if (Buffer.isBuffer(value)) {
    head.writeUInt8(BYTES, 8);
    return Buffer.concat([head, value]);
  }
  const { encoding, bytes } = await pack(Buffer.from(stringifyJson(value)), 1);
  head.writeUInt8(encoding === 'gzip' ? JSON_GZIP : JSON_PLAIN, 8);
  return Buffer.concat([head, bytes]);
}

async function decode(bytes: Buffer): Promise<StoredSource> {
  const fetchedAt = bytes.readDoubleBE();
  const kind = bytes.readUInt8(8);
  const content = bytes.subarray(9);
  if (kind === BYTES) return { value: content, fetchedAt };
  const json = await unpack({ encoding: kind === JSON_GZIP ? 'gzip' : 'identity', bytes: content });
  return { value: parseJson(json.toString('utf8')), fetchedAt };
}
