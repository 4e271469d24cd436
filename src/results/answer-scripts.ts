import type { Redis } from '../platform/redis.ts';
import { VERSION_LENGTH } from './answer.ts';

/** Stores the entry of a call's answer. @returns its bytes if a caller polls it, otherwise 0. */
const PUT_OWN = `
  local isKept = redis.call('EXISTS', KEYS[3]) == 1
  local lifetime = isKept and ARGV[4] or ARGV[3]
  if isKept and tonumber(ARGV[2]) > 0 then redis.call('PEXPIRE', KEYS[2], lifetime) end
  redis.call('SET', KEYS[1], ARGV[1], 'PX', lifetime)
  return isKept and #ARGV[1] + ARGV[2] or 0`;

const PUT_SHARED = `
  local present = redis.call('GETRANGE', KEYS[1], 0, ${VERSION_LENGTH - 1})
  if present > string.sub(ARGV[1], 1, ${VERSION_LENGTH}) then return end
  if present ~= '' then
    local replaced = KEYS[1] .. ':' .. present
    redis.call('RENAME', KEYS[1], replaced)
    if redis.call('PTTL', replaced) < tonumber(ARGV[3]) then redis.call('PEXPIRE', replaced, ARGV[3]) end
  end
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])`;

const KEEP_SHARED = `
  local isNewest = redis.call('GETRANGE', KEYS[1], 0, ${VERSION_LENGTH - 1}) == ARGV[1]
  for _, key in ipairs({ isNewest and KEYS[1] or KEYS[2], KEYS[3] }) do
    if redis.call('PTTL', key) < tonumber(ARGV[2]) then redis.call('PEXPIRE', key, ARGV[2]) end
  end`;

const KEEP = `
  local wasKept = redis.call('EXISTS', KEYS[2]) == 1
  redis.call('SET', KEYS[2], 1, 'PX', ARGV[1])
  if redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 0 then return 0 end
  local body = KEYS[1] .. ':body:' .. redis.call('GETRANGE', KEYS[1], 0, ${VERSION_LENGTH - 1})
  redis.call('PEXPIRE', body, ARGV[1])
  return wasKept and 0 or redis.call('STRLEN', KEYS[1]) + redis.call('STRLEN', body)`;

type Script = (...args: (string | Buffer | number)[]) => Promise<unknown>;

/** Registers the scripts for the answers of calls. */
export function registerOwnScripts(redis: Redis): { putOwn: Script; keep: Script } {
  redis.defineCommand('soukPutOwn', { numberOfKeys: 3, lua: PUT_OWN });
  redis.defineCommand('soukKeep', { numberOfKeys: 2, lua: KEEP });
  const commands = redis as unknown as Record<'soukPutOwn' | 'soukKeep', Script>;
  return {
    putOwn: (...args) => commands.soukPutOwn(...args),
    keep: (...args) => commands.soukKeep(...args),
  };
}

/** Registers the scripts for shared answers, which the Redis of the cache runs. */
export function registerSharedScripts(redis: Redis): { putShared: Script; keepShared: Script } {
  redis.defineCommand('soukPutShared', { numberOfKeys: 1, lua: PUT_SHARED });
  redis.defineCommand('soukKeepShared', { numberOfKeys: 3, lua: KEEP_SHARED });
  const commands = redis as unknown as Record<'soukPutShared' | 'soukKeepShared', Script>;
  return {
    putShared: (...args) => commands.soukPutShared(...args),
    keepShared: (...args) => commands.soukKeepShared(...args),
  };
}
