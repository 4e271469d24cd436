/** Kinds of labels, with their numbers in the database. */
export const LABEL_KINDS = { brand: 1, category: 2 } as const;

export type LabelKind = keyof typeof LABEL_KINDS;
