/** Limits on JSON that a caller sends, checked before anything is built from it. */
export const CALLER_JSON_LIMITS = {
  fieldsOfObject: 1_000,
  /** More than the records that a caller may send, so that a list with a few records too many gets the error that states their number. */
  valuesOfList: 200_000,
  levels: 20,
  levelsOfRecords: 64,
};

export interface JsonFault {
  problem: string;
  /** The position of the record, in the list `items`; absent outside this list. */
  index?: number;
}

/** An object or a list that has not ended. */
interface Container {
  isList: boolean;
  isItems: boolean;
  commas: number;
}

/**
 * Returns what makes a JSON text too large to parse for a caller, or null. Reads each character once, so that the time is
 * linear in the length of the text. The text need not be valid JSON.
 * @param mostLevels one of the limits.
 */
export function callerJsonFault(text: string, mostLevels = CALLER_JSON_LIMITS.levels): JsonFault | null {
  const open: Container[] = [];
  for (let i = 0; i < text.length; i += 1) {
    const sign = text[i];
    if (sign === '"') i = endOfString(text, i);
    else if (sign === '{' || sign === '[') {
      if (open.length === mostLevels) return faultIn(open, `is nested more than ${mostLevels} levels deep`);
      open.push({ isList: sign === '[', isItems: sign === '[' && areItems(text, i, open), commas: 0 });
    } else if (sign === '}' || sign === ']') open.pop();
    else if (sign === ',') {
      const problem = countComma(open.at(-1));
      if (problem !== null) return faultIn(open, problem);
    }
  }
  return null;
}

/** The list of records is a field of the document, or of an object in it. */
function areItems(text: string, start: number, { length }: readonly Container[]): boolean {
  return length <= 2 && /"items"\s*:\s*$/.test(text.slice(Math.max(0, start - 32), start));
}

function countComma(container: Container | undefined): string | null {
  if (!container) return null;
  container.commas += 1;
  const { fieldsOfObject, valuesOfList } = CALLER_JSON_LIMITS;
  if (container.commas < (container.isList ? valuesOfList : fieldsOfObject)) return null;
  return container.isList
    ? `has a list of more than ${valuesOfList} values`
    : `has an object with more than ${fieldsOfObject} fields`;
}

function faultIn(open: readonly Container[], problem: string): JsonFault {
  const records = open.find(({ isItems }) => isItems);
  return records && records !== open.at(-1) ? { problem, index: records.commas } : { problem };
}

/** Returns the position of the quotation mark that ends the string, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i += 1) {
    if (text[i] === '\\') i += 1;
    else if (text[i] === '"') return i;
  }
  return text.length;
}
