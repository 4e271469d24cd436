import fc from 'fast-check';

/** A step of a drawn history: its weight among the others, its kind and its fields. */
export function oneStep<Kind extends string, Fields extends object = object>(
  weight: number,
  kind: Kind,
  fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> } = {} as never,
) {
  const drawn = fc.record(fields as never) as fc.Arbitrary<Fields>;
  return { weight, arbitrary: drawn.map((own) => ({ kind, ...own })) };
}
