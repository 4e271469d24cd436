import { count } from '../kit/words.tsx';

/** The names of filters that differ from those of the parameters. */
const NAMES: Readonly<Record<string, string>> = {
  change4: 'change in 4 weeks',
  change12: 'change in 12 weeks',
  clickShare: 'clicks in %',
  conversionShare: 'purchases in %',
  words: 'with',
  notWords: 'without',
  newSince: 'first seen since',
};

/** Returns the filters of a saved screen in words, such as `us: rank up to 1,500, with lamp`. */
export function screenText(screen: Readonly<Record<string, unknown>> | null): string {
  const { country = '', limit, sort, ...filters } = screen ?? {};
  const texts = Object.entries(filters).map(([name, value]) => `${NAMES[name] ?? name} ${valueText(value)}`);
  const ends = [
    ...(typeof limit === 'number' ? [`the first ${count(limit)} terms`] : []),
    ...(typeof sort !== 'string' || sort === 'rank' ? [] : [`sorted by ${sort}`]),
  ];
  return `${String(country)}: ${[...texts, ...ends].join(', ')}`;
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ');
  if (typeof value !== 'object' || value === null) return String(value);
  const { min, max } = value as { min?: number; max?: number };
  if (min === undefined) return `up to ${count(max ?? 0)}`;
  return max === undefined ? `from ${count(min)}` : `${count(min)} to ${count(max)}`;
}
