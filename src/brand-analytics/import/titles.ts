import type { BinaryRows } from './binary-rows.ts';
import { withoutControls } from './plain-text.ts';
import type { ReportRow } from './report.ts';

/** Products recur in a report. Of those that share a slot here, the last one is remembered. */
const REMEMBERED = 2 ** 19;

/** Writes titles for COPY, without those of products that occurred recently. */
export function createTitles() {
  const asins = new Float64Array(REMEMBERED);
  return {
    write(rows: readonly ReportRow[], lines: BinaryRows): void {
      for (const { products } of rows) {
        for (const product of products) {
          if (!product || product.title === '') continue;
          const { asin, title } = product;
          // Products with similar numbers are unrelated, so remainders spread them well enough.
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
