import { z } from 'zod';

/** Where a figure of a joined answer comes from. */
export interface Figure {
  /** `products`, `reports` or `trends` (a provider's data), or `request` (a parameter); several are joined with ` + `. */
  source: string;
  /** The date of the data: the week of a report, or when the provider last updated the product. null if it is unknown. */
  date: string | null;
  /** How the figure is computed from the data. */
  formula: string;
}

/** The figures of an answer by name, such as `profit.margin`. */
export type Figures = Record<string, Figure>;

export const figures = z
  .record(
    z.string(),
    z.object({
      source: z
        .string()
        .describe('products, reports or trends, or request for a parameter; several are joined with +'),
      date: z
        .string()
        .nullable()
        .describe('Date of the data: week of the report, or last update of the product; null if unknown'),
      formula: z.string(),
    }),
  )
  .describe('Where the figures of the answer come from, by their names');

/** The source and the formula of each figure of an operation, by its name in the answer. */
export type Formulas = Readonly<Record<string, readonly [source: string, formula: string]>>;

/**
 * Returns the figures of an answer.
 * @param dates by source. A figure of several sources has the date of the first of them.
 * @param own the dates of single figures, by name.
 */
export function figuresOf(
  formulas: Formulas,
  dates: Readonly<Record<string, string | null>>,
  own: Readonly<Record<string, string | null>> = {},
): Figures {
  const described = Object.entries(formulas).map(([name, [source, formula]]) => {
    const [first = ''] = source.split(' + ');
    return [name, { source, date: name in own ? (own[name] ?? null) : (dates[first] ?? null), formula }];
  });
  return Object.fromEntries(described) as Figures;
}

/** Returns the schema of a figure, whose description is its formula. */
export function figure(formulas: Formulas, name: string) {
  const formula = formulas[name]?.[1];
  if (formula === undefined) throw new Error(`${name} has no formula`);
  return z.number().nullable().describe(formula);
}

/** Rounds to two digits after the decimal point. */
export function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

/** Returns a ratio, rounded to two digits after the decimal point. One division of whole numbers rounds ties exactly. */
export function ratio(part: number, whole: number): number {
  return Math.round((100 * part) / whole) / 100;
}
