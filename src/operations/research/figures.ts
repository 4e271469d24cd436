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
