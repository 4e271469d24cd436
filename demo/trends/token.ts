import { createHash } from 'node:crypto';

/** Fields of a request that may change without invalidating its token. */
const FREE_FIELDS = ['resolution', 'includeLowSearchVolumeGeos'];

const HEAD = Buffer.from('00dbc0030000000000', 'hex');
const LIFETIME_SECONDS = 86_400;
const SIGNATURE_BYTES = 20;

/** Returns a token with the length of real ones: 9 fixed bytes, its expiry, a signature of the request. */
export function tokenOf(request: object, nowMs: number): string {
  const end = Math.floor(nowMs / 1000) + LIFETIME_SECONDS;
  return encode(request, end);
}

/** Returns whether a token belongs to this request and has not expired. */
export function isTokenGood(token: string | undefined, request: object, nowMs: number): boolean {
  const bytes = Buffer.from(token ?? '', 'base64url');
  if (bytes.length !== HEAD.length + 4 + SIGNATURE_BYTES) return false;
  const end = bytes.readUInt32BE(HEAD.length);
  return end * 1000 > nowMs && encode(request, end) === token;
}

function encode(request: object, end: number): string {
  const time = Buffer.alloc(4);
  time.writeUInt32BE(end);
  const signed = Object.entries(request).filter(([name]) => !FREE_FIELDS.includes(name));
  const signature = createHash('sha256').update(time).update(JSON.stringify(signed)).digest();
  return Buffer.concat([HEAD, time, signature.subarray(0, SIGNATURE_BYTES)]).toString('base64url');
}
