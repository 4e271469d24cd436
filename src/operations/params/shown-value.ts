const LONGEST = 40;

/**
 * Shows a caller's value in an error text: `"abc"`, `5000`, `null`, `a list`. Long values are shortened, and control
 * characters are escaped. Not for values that may be secret, such as addresses of webhooks.
 */
export function shownValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = String(value as string | number | bigint | boolean | null | undefined);
  const shown = text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text;
  return typeof value === 'string' ? JSON.stringify(shown) : shown;
}

/** Adds the value to the text of a fault: `must be an integer, got "abc"`. */
export function got(problem: string, value: unknown): string {
  return `${problem}, got ${shownValue(value)}`;
}
