import type { BinaryRows } from './binary-rows.ts';
import { withoutControls } from './plain-text.ts';
import type { ReportRow } from './report.ts';

/** The same products come by again and again: of those that share a place here, the last is remembered. */
const REMEMBERED = 2 ** 19;

/** Writes titles for COPY, but not those of products that came by of late. */
export function createTitles() {
  const asins = new Float64Array(REMEMBERED);
  return {
    write(rows: readonly ReportRow[], lines: BinaryRows): void {
      for (const { products } of rows) {
        for (const product of products) {
          if (!product || product.title === '') continue;
          const { asin, title } = product;
          // Neighbours among numbers are no neighbours in sales, so their remainders are spread well enough.
          const place = asin % REMEMBERED;
          if (asins[place] === asin) continue;
          asins[place] = asin;
          lines.begin(2);
          lines.int8(asin);
          lines.text(withoutControls(title));
        }
      }
    },
  };
}
