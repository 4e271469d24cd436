-- Up Migration

-- Brand and root category of the products that customers have looked up. Reports of the Selling Partner API name products
-- only, so an import completes them from here; see src/brand-analytics/product-labels.ts.
create table product_labels (
  site smallint not null,
  asin bigint not null,
  -- The provider of product data.
  provider text not null,
  brand text,
  category text,
  learned_at timestamptz not null,
  primary key (site, asin)
);
create index product_labels_age on product_labels (learned_at);

-- Whether a row of the week has a brand or category.
alter table aba_weeks add column labelled boolean not null default true;
update aba_weeks set labelled = false where source = 'api';
