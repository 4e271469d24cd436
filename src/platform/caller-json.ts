/** Limits on JSON that a caller sends, checked before anything is built from it. */
export const CALLER_JSON_LIMITS = { fields: 1_000, levels: 20 };

/**
 * Returns what makes a JSON text too large to parse for a caller, or null. Reads each character once, so that the time is
 * linear in the length of the text. The text need not be valid JSON.
 */
export function callerJsonFault(text: string): string | null {
  const { fields: mostFields, levels: mostLevels } = CALLER_JSON_LIMITS;
  let fields = 0;
  let levels = 0;
  for (let i = 0; i < text.length; i += 1) {
    const sign = text[i];
    if (sign === '"') i = endOfString(text, i);
    else if (sign === ':') fields += 1;
    else if (sign === '{' || sign === '[') levels += 1;
    else if (sign === '}' || sign === ']') levels -= 1;
    if (fields > mostFields) return `has more than ${mostFields} fields`;
    if (levels > mostLevels) return `is nested more than ${mostLevels} levels deep`;
  }
  return null;
}

/** Returns the position of the quotation mark that ends the string, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i += 1) {
    if (text[i] === '\\') i += 1;
    else if (text[i] === '"') return i;
  }
  return text.length;
}
