/** Builds an address of the Trends site with a query. */
export function trendsUrl(baseUrl: string, path: string, params: Record<string, string | number>): URL {
  const url = new URL(`${baseUrl}${path}`);
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, String(value));
  return url;
}
