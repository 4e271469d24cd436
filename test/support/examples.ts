/** A request for every operation, by name: what follows /api/. It asks the demo provider for something that is there. */
export const EXAMPLES: Record<string, string> = {
  'market.product': 'market/product?domain=1&asins=B0C3CDEF01,B0C3CDEF02',
  'market.variations': 'market/variations?domain=1&asin=B0C3CDEF01&detailLevel=summary',
  'market.productfinder': `market/productfinder?selection=${encodeURIComponent('{"domain":1,"stats":1,"current_SALES_lte":5000}')}`,
  'market.productsearch': 'market/productsearch?domain=1&term=pump',
  'market.categorysearch': 'market/categorysearch?domain=1&term=kitchen',
  'market.category': 'market/category?domain=1&category=0',
  'market.bestseller': 'market/bestseller?domain=1&category=200000&perPage=10',
  'market.seller': 'market/seller?domain=1&seller=AKT8ZJ45IBZW2X&storefront=1',
  'market.topseller': 'market/topseller?domain=1&perPage=5',
  'market.deal': `market/deal?selection=${encodeURIComponent('{"domainId":1}')}`,
  'market.lightningdeal': 'market/lightningdeal?domain=1',
  'market.graphimage': 'market/graphimage?domain=1&asin=B0C3CDEF01',
  'account.quota': 'quota?',
  'market.charturl': 'market/charturl?domain=1&asins=B0C3CDEF01',
  'retail.imageurl': 'retail/imageurl?domain=1&images=31abc.jpg',
};
