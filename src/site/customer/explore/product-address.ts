import { productNamedBy } from '../../../operations/products/product-address.ts';
import type { FormValues } from '../../kit/form-request.ts';

/** The products of a field: ASINs or addresses, separated by blanks, lines, commas or semicolons. */
function partsOf(text: string): string[] {
  return text.split(/[\s,;]+/).filter(Boolean);
}

/** Returns the ASINs of a field. A part that names no product stays as it is, and the API refuses it with a reason. */
export function asinsIn(text: string): string[] {
  return partsOf(text).map((part) => productNamedBy(part)?.asin ?? part);
}

/** Replaces pasted addresses in a field by ASINs. The first address sets the field of the site. */
export function withAsins(values: FormValues, field: string): FormValues {
  const parts = partsOf(values[field] ?? '');
  if (parts.length === 0) return values;
  const named = parts.map(productNamedBy).find((one) => one?.domain);
  return {
    ...values,
    ...(named?.domain ? { domain: String(named.domain) } : {}),
    [field]: asinsIn(parts.join(' ')).join(' '),
  };
}
