// Thirty questions of sellers and analysts. Each has its facts from the whole raw answers of the HTTP interface, and the way an
// agent finds them with few tokens: by listed tools, and by tools that `tools_search` finds and `tools_call` calls.

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
type Data = any;

/** Sends a request and returns the data of the whole answer. A request with a body is a POST. */
type Http = (path: string, body?: object) => Promise<Data>;

export interface ScriptedAgent {
  /** Calls a listed tool. */
  call(tool: string, args: object): Promise<Data>;
  /** Finds a tool by words, and calls it. */
  find(words: string, tool: string, args: object): Promise<Data>;
}

export interface Question {
  question: string;
  facts(http: Http): Promise<unknown>;
  ask(agent: ScriptedAgent): Promise<unknown>;
}

const ASIN = 'B0C3CDEF03';
const THREE = ['B0C3CDEF01', 'B0C3CDEF03', 'B0C3CDEF05'];
const SELLERS = ['ABWRICYPI40AC8', 'AKT8ZJ45IBZW2X'];
const CATEGORY = 200_000;
const FINDER = { current_SALES_lte: 5_000, current_RATING_gte: 40 };
const CHEAP_DEALS = { isRangeEnabled: true, currentRange: [0, 2_000], isFilterEnabled: true, minRating: 40 };

/** The positions of series in the lists of raw answers. */
const NEW = 1;
const RANK = 3;
const RATING = 16;
const REVIEWS = 17;

const minutes = (time: number) => new Date((time + 21_564_000) * 60_000).toISOString().replace('.000Z', 'Z');
const rawProduct = async (http: Http, query: string) =>
  (await http(`/api/market/product?domain=1&asins=${ASIN}&${query}`)).products[0];

/** The records of a list or a table. */
function recordsOf(list: Data): Data[] {
  if (Array.isArray(list)) return list;
  return list.rows.map((row: unknown[]) => Object.fromEntries(row.map((cell, i) => [list.columns[i], cell])));
}

const smallest = (list: Data[], keyOf: (one: Data) => number) =>
  [...list].sort((a, b) => keyOf(a) - keyOf(b) || (a.asin < b.asin ? -1 : 1))[0];

const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

export const QUESTIONS: readonly Question[] = [
  {
    question: 'What does this product cost?',
    facts: async (http) => (await rawProduct(http, 'stats=90')).stats.current[NEW] / 100,
    ask: async ({ call }) =>
      (await call('market_get_product', { country: 'us', asins: [ASIN] })).products[0].price,
  },
  {
    question: 'How is it rated, and by how many customers?',
    async facts(http) {
      const { current } = (await rawProduct(http, 'rating=1')).stats;
      return [current[RATING] / 10, current[REVIEWS]];
    },
    async ask({ call }) {
      const args = { country: 'us', asins: [ASIN], fields: 'rating,reviewCount' };
      const [{ rating, reviewCount }] = (await call('market_get_product', args)).products;
      return [rating, reviewCount];
    },
  },
  {
    question: 'Is it cheaper than on average in 90 days?',
    async facts(http) {
      const { current, avg90 } = (await rawProduct(http, 'stats=90')).stats;
      return [current[NEW] / 100, avg90[NEW] / 100];
    },
    async ask({ call }) {
      const fields = 'statistics.current.new,statistics.avg90.new';
      const args = { country: 'us', asins: [ASIN], detailLevel: 'lite', stats: 90, fields };
      const [{ statistics }] = (await call('market_get_product', args)).products;
      return [statistics.current.new, statistics.avg90.new];
    },
  },
  {
    question: 'When was it cheapest in 90 days?',
    async facts(http) {
      const [time, value] = (await rawProduct(http, 'stats=90')).stats.minInInterval[NEW];
      return { time: minutes(time), value: value / 100 };
    },
    async ask({ call }) {
      const fields = 'statistics.minInInterval.new';
      const args = { country: 'us', asins: [ASIN], detailLevel: 'lite', stats: 90, fields };
      return (await call('market_get_product', args)).products[0].statistics.minInInterval.new;
    },
  },
  {
    question: 'Which range did its price have since November?',
    async facts(http) {
      const series: number[] = (await rawProduct(http, 'detailLevel=full')).csv[NEW];
      const points = series.flatMap((time, i) =>
        i % 2 === 0 ? [[minutes(time), series[i + 1]] as const] : [],
      );
      const first = points.findIndex(([time]) => time >= '2025-11-01');
      const prices = points.slice(first - 1).map(([, price = 0]) => price / 100);
      return [Math.min(...prices), Math.max(...prices), prices.at(-1)];
    },
    async ask({ call }) {
      const args = { country: 'us', asins: [ASIN], from: '2025-11-01', points: 20, fields: 'history.new' };
      const [{ history }] = (await call('market_get_product', args)).products;
      const prices = history.new.map(([, price]: [string, number]) => price);
      return [Math.min(...prices), Math.max(...prices), prices.at(-1)];
    },
  },
  {
    question: 'Who offers it?',
    async facts(http) {
      const { offers } = await rawProduct(http, 'detailLevel=full&offers=20');
      return offers.map(({ sellerId }: Data) => sellerId);
    },
    async ask({ call }) {
      const args = {
        country: 'us',
        asins: [ASIN],
        detailLevel: 'full',
        offers: 20,
        fields: 'offers.sellerId',
      };
      const [{ offers }] = (await call('market_get_product', args)).products;
      return recordsOf(offers).map(({ sellerId }) => sellerId);
    },
  },
  {
    question: 'Which of these products has the best rank?',
    async facts(http) {
      const { products } = await http(`/api/market/product?domain=1&asins=${THREE.join()}`);
      return smallest(products, ({ stats }) => stats.current[RANK]).asin;
    },
    async ask({ call }) {
      const args = { country: 'us', asins: THREE, fields: 'bsr' };
      return smallest((await call('market_get_product', args)).products, ({ bsr }) => bsr).asin;
    },
  },
  {
    question: 'Which products have this UPC?',
    facts: async (http) =>
      (await http('/api/market/product?domain=1&codes=0006215059468')).products.map(({ asin }: Data) => asin),
    async ask({ call }) {
      const args = { country: 'us', codes: ['0006215059468'], fields: 'asin' };
      return recordsOf((await call('market_get_product', args)).products).map(({ asin }) => asin);
    },
  },
  {
    question: 'What does it cost in Japan?',
    facts: async (http) =>
      (await http(`/api/market/product?domain=5&asins=${ASIN}`)).products[0].stats.current[NEW],
    async ask({ call }) {
      const args = { country: 'jp', asins: [ASIN], fields: 'price' };
      return (await call('market_get_product', args)).products[0].price;
    },
  },
  {
    question: 'Which variations does it have, in which colours?',
    async facts(http) {
      const { variations } = await http(`/api/market/variations?domain=1&asin=${THREE[0]}`);
      return variations.map(({ asin, color }: Data) => [asin, color]);
    },
    async ask({ find }) {
      const args = { country: 'us', asin: THREE[0], fields: 'color' };
      const { variations } = await find('variations', 'market_get_variations', args);
      return recordsOf(variations).map(({ asin, color }) => [asin, color]);
    },
  },
  {
    question: 'Which variation is cheapest?',
    async facts(http) {
      const { variations } = await http(`/api/market/variations?domain=1&asin=${THREE[0]}`);
      return smallest(variations, ({ stats }) => stats.current[NEW]).asin;
    },
    async ask({ find }) {
      const args = { country: 'us', asin: THREE[0], fields: 'stats.price' };
      const { variations } = await find('variations of a product', 'market_get_variations', args);
      const prices = recordsOf(variations).map((one) => ({
        asin: one.asin,
        price: one['stats.price'] ?? one.stats.price,
      }));
      return smallest(prices, ({ price }) => price).asin;
    },
  },
  {
    question: 'What are the first results for "pump"?',
    async facts(http) {
      const { products } = await http('/api/market/productsearch?domain=1&term=pump');
      return products.slice(0, 5).map(({ title }: Data) => title);
    },
    async ask({ call }) {
      const { products } = await call('market_search_products', {
        country: 'us',
        term: 'pump',
        fields: 'title',
      });
      return recordsOf(products)
        .slice(0, 5)
        .map(({ title }) => title);
    },
  },
  {
    question: 'What is the usual price of a pump?',
    async facts(http) {
      const { products } = await http('/api/market/productsearch?domain=1&term=pump');
      return median(
        products.map(({ stats }: Data) => stats.current[NEW] / 100).filter((price: number) => price > 0),
      );
    },
    async ask({ call }) {
      const { products } = await call('market_search_products', {
        country: 'us',
        term: 'pump',
        fields: 'price',
      });
      return median(
        recordsOf(products)
          .map(({ price }) => price)
          .filter((price) => price !== null),
      );
    },
  },
  {
    question: 'What sells best in this category?',
    async facts(http) {
      const { bestSellersList } = await http(`/api/market/bestseller?domain=1&category=${CATEGORY}`);
      return bestSellersList.asinList.slice(0, 10);
    },
    async ask({ find }) {
      const args = { country: 'us', category: CATEGORY, perPage: 10 };
      return (await find('best sellers of a category', 'market_get_best_sellers', args)).bestSellersList
        .asinList;
    },
  },
  {
    question: 'Which categories are about kitchens?',
    facts: async (http) =>
      (await http('/api/market/categorysearch?domain=1&term=kitchen')).categories.map(
        ({ catId }: Data) => catId,
      ),
    async ask({ find }) {
      const args = { country: 'us', term: 'kitchen' };
      const { categories } = await find('search categories by keyword', 'market_search_categories', args);
      return recordsOf(categories).map(({ catId }) => catId);
    },
  },
  {
    question: 'Which root category has the most products?',
    async facts(http) {
      const { categories } = await http('/api/market/category?domain=1&category=0');
      return smallest(Object.values(categories), ({ productCount }) => -productCount).name;
    },
    async ask({ find }) {
      const args = { country: 'us', category: 0, fields: 'name,productCount' };
      const { categories } = await find('root categories of a site', 'market_get_category', args);
      return smallest(recordsOf(categories), ({ productCount }) => -productCount).name;
    },
  },
  {
    question: 'Which of these sellers is rated better?',
    async facts(http) {
      const { sellers } = await http(`/api/market/seller?domain=1&seller=${SELLERS.join()}`);
      return smallest(Object.values(sellers), ({ currentRating }) => -currentRating).sellerName;
    },
    async ask({ call }) {
      const args = { country: 'us', seller: SELLERS, fields: 'sellerName,currentRating' };
      const { sellers } = await call('market_get_seller', args);
      return smallest(sellers, ({ currentRating }) => -currentRating).sellerName;
    },
  },
  {
    question: 'Since when is this seller known, and how many ratings has it had in 30 days?',
    async facts(http) {
      const { sellers } = await http(`/api/market/seller?domain=1&seller=${SELLERS[0]}`);
      const { trackedSince, ratingCount } = sellers[SELLERS[0] ?? ''];
      return [minutes(trackedSince), ratingCount[0]];
    },
    async ask({ call }) {
      const args = { country: 'us', seller: [SELLERS[0]], fields: 'trackedSince,ratingCount' };
      const { sellers, ratingPeriods } = await call('market_get_seller', args);
      return [sellers[0].trackedSince, sellers[0].ratingCount[ratingPeriods.indexOf('30 days')]];
    },
  },
  {
    question: 'How many products are in its storefront, and which came last?',
    async facts(http) {
      const { sellers } = await http(`/api/market/seller?domain=1&seller=${SELLERS[1]}&storefront=1`);
      const { asinList } = sellers[SELLERS[1] ?? ''];
      return [asinList.length, asinList.slice(0, 3)];
    },
    async ask({ call }) {
      const fields = 'asinList,_pagination';
      const args = { country: 'us', seller: [SELLERS[1]], storefront: true, perPage: 3, fields };
      const [{ asinList, _pagination }] = (await call('market_get_seller', args)).sellers;
      return [_pagination.total, asinList];
    },
  },
  {
    question: 'Which product has the largest price drop of the week?',
    async facts(http) {
      const { deals } = await http('/api/market/deal', { domainId: 1 });
      const [{ asin, current, deltaPercent }] = deals.dr;
      return [asin, current[0] / 100, deltaPercent[1][0]];
    },
    async ask({ find }) {
      const args = { country: 'us', fields: 'asin,current,deltaPercent' };
      const { deals } = await find('deals with a price drop', 'market_find_deals', args);
      const [{ asin, current, deltaPercent }] = recordsOf(deals.dr);
      return [asin, current, deltaPercent];
    },
  },
  {
    question: 'How many deals with four stars cost less than 20 dollars?',
    facts: async (http) => (await http('/api/market/deal', { domainId: 1, ...CHEAP_DEALS })).deals.dr.length,
    async ask({ find }) {
      const args = { country: 'us', ...CHEAP_DEALS, fields: 'asin' };
      return recordsOf((await find('deals', 'market_find_deals', args)).deals.dr).length;
    },
  },
  {
    question: 'Which lightning deals can be bought now, at which price?',
    async facts(http) {
      const { lightningDeals } = await http('/api/market/lightningdeal?domain=1');
      const open = lightningDeals.filter(({ dealState }: Data) => dealState === 'AVAILABLE');
      return open.map(({ asin, dealPrice }: Data) => [asin, dealPrice / 100]);
    },
    async ask({ find }) {
      const args = { country: 'us', state: 'AVAILABLE', fields: 'asin,dealPrice' };
      const { lightningDeals } = await find('lightning deals', 'market_get_lightning_deals', args);
      return recordsOf(lightningDeals).map(({ asin, dealPrice }) => [asin, dealPrice]);
    },
  },
  {
    question: 'How many products rank below 5,000 with four stars?',
    facts: async (http) =>
      (await http('/api/market/productfinder', { domain: 1, perPage: 1_000, ...FINDER })).totalResultCount,
    async ask({ find }) {
      const args = { country: 'us', ...FINDER, fields: 'totalResultCount' };
      return (await find('find products that match filters', 'market_find_products', args)).totalResultCount;
    },
  },
  {
    question: 'Is interest in kettles higher than a year ago?',
    async facts(http) {
      const { timelineData } = await http('/api/webtrends/interest-over-time', { keyword: ['kettle'] });
      return [timelineData[0].values[0].value, timelineData.at(-1).values[0].value];
    },
    async ask({ call }) {
      const { timelineData } = await call('web_trends_interest_over_time', { keyword: ['kettle'] });
      const values = recordsOf(timelineData).map(({ kettle }) => kettle);
      return [values[0], values.at(-1)];
    },
  },
  {
    question: 'Where do people search for kettles most?',
    async facts(http) {
      const { regions } = await http('/api/webtrends/interest-by-region', { keyword: ['kettle'] });
      return regions.slice(0, 3).map(({ geoName }: Data) => geoName);
    },
    async ask({ find }) {
      const args = { keyword: ['kettle'], fields: 'geoName' };
      const { regions } = await find('search interest by region', 'web_trends_interest_by_region', args);
      return recordsOf(regions)
        .slice(0, 3)
        .map(({ geoName }) => geoName);
    },
  },
  {
    question: 'Which searches about kettles grow fastest?',
    async facts(http) {
      const [{ rising }] = (await http('/api/webtrends/related-queries', { keyword: ['kettle'] })).results;
      return rising.slice(0, 3).map(({ query, value }: Data) => [query, value]);
    },
    async ask({ find }) {
      const args = { keyword: ['kettle'] };
      const [{ rising }] = (await find('related searches', 'web_trends_related_queries', args)).results;
      return recordsOf(rising)
        .slice(0, 3)
        .map(({ query, value }) => [query, value]);
    },
  },
  {
    question: 'Which searches trend today?',
    async facts(http) {
      const { trends } = await http('/api/webtrends/daily-trends?geo=US');
      return trends.slice(0, 3).map(({ query, searchVolume }: Data) => [query, searchVolume]);
    },
    async ask({ find }) {
      const args = { geo: 'US' };
      const { trends } = await find('trending searches of a day', 'web_trends_daily_trends', args);
      return recordsOf(trends)
        .slice(0, 3)
        .map(({ query, searchVolume }) => [query, searchVolume]);
    },
  },
  {
    question: 'How did the rank of a search term change?',
    async facts(http) {
      const { items } = await http('/api/aba/search?country=us&keyword=lamp');
      const { history } = await http(`/api/aba/word/${items[0].wordId}`);
      return history.map(({ reportDate, rank }: Data) => [reportDate, rank]);
    },
    async ask({ call }) {
      const found = await call('aba_search_keywords', { country: 'us', keyword: 'lamp', limit: 1 });
      const args = { wordId: found.items[0].wordId, fields: 'history' };
      const { history } = await call('aba_get_word_detail', args);
      return recordsOf(history).map(({ reportDate, rank }) => [reportDate, rank]);
    },
  },
  {
    question: 'Which search terms rise this week?',
    async facts(http) {
      const { rows } = await http('/api/aba/rank?country=us&fluctuationType=rising');
      return rows.slice(0, 10).map(({ keyword, rank, rankChange }: Data) => [keyword, rank, rankChange]);
    },
    async ask({ find }) {
      const args = { country: 'us', fluctuationType: 'rising', limit: 10, fields: 'keyword,rank,rankChange' };
      const { rows } = await find('search terms of a week by rank', 'aba_get_rank_list', args);
      return recordsOf(rows).map(({ keyword, rank, rankChange }) => [keyword, rank, rankChange]);
    },
  },
  {
    question: 'For which search terms do customers click this product?',
    async facts(http) {
      const { rows } = await http('/api/aba/rank?country=us&limit=1');
      const asin = rows[0].goods[0].asin;
      const { items } = await http('/api/aba/asin-reverse', { asins: [asin], country: 'us' });
      return items[0].keywords.map(({ keyword, clickShare }: Data) => [keyword, clickShare]);
    },
    async ask({ find }) {
      const args = { country: 'us', limit: 1, fields: 'goods.asin' };
      const { rows } = await find('rank list of search terms', 'aba_get_rank_list', args);
      const asin = rows[0].goods[0].asin;
      const clicked = { country: 'us', asins: [asin] };
      const { items } = await find('reverse ASIN search terms', 'aba_reverse_asin', clicked);
      return recordsOf(items[0].keywords).map(({ keyword, clickShare }) => [keyword, clickShare]);
    },
  },
];
