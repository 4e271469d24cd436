import { withoutControls } from './plain-text.ts';
import type { ReportRow } from './report.ts';

/** Kinds of labels, as the database numbers them. */
export const LABEL_KINDS = { brand: 1, category: 2 } as const;

export type LabelKind = keyof typeof LABEL_KINDS;

/** Tells the ids of names, new ones too. Names are plain text, and come back as strings of their own. */
export type AskLabels = (names: Record<LabelKind, string[]>) => Promise<Record<LabelKind, LabelId[]>>;

export type LabelId = readonly [name: string, id: number];

/** Ids of brands and categories. */
export interface Labels {
  /** Makes the ids of the names in these rows known. */
  learn(rows: readonly ReportRow[]): Promise<void>;
  /** 0 for ''. Only what was just learnt is sure to be known. */
  idOf(kind: LabelKind, name: string): number;
}

/** A week has some hundred thousand brands; when there are more of them, all are asked for again. */
export const MOST_REMEMBERED = 200_000;

export function openLabels(ask: AskLabels): Labels {
  const known = { brand: new Map<string, number>(), category: new Map<string, number>() };
  return {
    async learn(rows) {
      for (const ids of Object.values(known)) if (ids.size > MOST_REMEMBERED) ids.clear();
      const unknown = { brand: new Set<string>(), category: new Set<string>() };
      for (const { brands, categories } of rows) {
        for (const name of brands) if (!known.brand.has(name)) unknown.brand.add(withoutControls(name));
        for (const name of categories)
          if (!known.category.has(name)) unknown.category.add(withoutControls(name));
      }
      for (const names of Object.values(unknown)) names.delete('');
      if (unknown.brand.size + unknown.category.size === 0) return;
      const found = await ask({ brand: [...unknown.brand], category: [...unknown.category] });
      // The names as they come back: those of the file are parts of its text, and would keep all of it.
      for (const [name, id] of found.brand) known.brand.set(name, id);
      for (const [name, id] of found.category) known.category.set(name, id);
    },
    idOf: (kind, name) =>
      name === '' ? 0 : (known[kind].get(name) ?? known[kind].get(withoutControls(name)) ?? 0),
  };
}
