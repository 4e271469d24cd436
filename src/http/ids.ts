import { z } from 'zod';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** A parameter that must be an id which an earlier answer gave. @param of what it is the id of. */
export function uuidParameter(of: string) {
  return z.string().regex(UUID, `must be the id of ${of}`);
}
