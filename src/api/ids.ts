import { z } from 'zod';
import { problem } from '../operations/params/scalars.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const EXAMPLE_ID = '019b2c3d-4e5f-7a6b-8c7d-9e0f1a2b3c4d';

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** A parameter that must be a UUID, which is stored in lower case. @param of the resource that the id names, such as "a schedule". */
export function uuidParameter(of: string) {
  return z
    .string(problem(`must be the id of ${of}`))
    .regex(UUID, problem(`must be the id of ${of}`))
    .toLowerCase()
    .meta({ description: `Id of ${of}`, format: 'uuid', maxLength: 36, examples: [EXAMPLE_ID] });
}
