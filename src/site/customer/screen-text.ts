const NAMES: Record<string, string> = {
  rank: 'rank',
  change4: 'change in 4 weeks',
  change12: 'change in 12 weeks',
  clickShare: 'clicks in %',
  conversionShare: 'purchases in %',
  words: 'with',
  notWords: 'without',
  brand: 'brand',
  newSince: 'first seen since',
  sort: 'sorted by',
  limit: 'terms',
};

const NUMBER = new Intl.NumberFormat('en');

/** Returns the filters of a saved screen in words, such as `us: rank up to 1,500, with lamp`. */
export function screenText(screen: Readonly<Record<string, unknown>> | null): string {
  const { country = '', limit, sort, ...filters } = screen ?? {};
  const texts = Object.entries(filters).map(([name, value]) => `${NAMES[name] ?? name} ${valueText(value)}`);
  const ends = [
    ...(typeof limit === 'number' ? [`the first ${NUMBER.format(limit)} terms`] : []),
    ...(typeof sort !== 'string' || sort === 'rank' ? [] : [`sorted by ${sort}`]),
  ];
  return `${String(country)}: ${[...texts, ...ends].join(', ')}`;
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ');
  if (typeof value !== 'object' || value === null) return String(value);
  const { min, max } = value as { min?: number; max?: number };
  if (min === undefined) return `up to ${NUMBER.format(max ?? 0)}`;
  return max === undefined ? `from ${NUMBER.format(min)}` : `${NUMBER.format(min)} to ${NUMBER.format(max)}`;
}
