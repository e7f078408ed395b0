#!/usr/bin/env node
// Prisma's query engine as a program, built from npm packages.
//
// LiteLLM's Python client starts a query engine and sends it GraphQL over HTTP. The program that
// Prisma publishes is downloaded from its own server. The npm package @prisma/query-engine-wasm has
// the same engine, of the same commit, as WebAssembly; it reads queries as JSON. This file starts it
// and translates queries and results. Used by the tests with a PostgreSQL; TRACE=1 prints queries.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { PrismaPg } from "@prisma/adapter-pg";
import { bindAdapter } from "@prisma/driver-adapter-utils";
import { parse } from "graphql";
import pg from "pg";

const PACKAGE = "@prisma/query-engine-wasm/package.json";
const require = createRequire(import.meta.url);

if (process.argv.includes("--version")) {
  console.log(`query-engine ${require(PACKAGE).version.split(".").at(-1)}`);
  process.exit(0);
}

const OPERATION =
  /^(findUnique|findFirst|findMany|createOne|createMany|updateOne|updateMany|deleteOne|deleteMany|upsertOne|aggregate|groupBy)(.*?)(OrThrow)?$/;

// Types that the adapter does not know: "char", name, name[], regclass, void. They are read as text.
const SAME_AS = new Map([[18, 25], [19, 25], [1003, 1009], [2205, 25], [2278, 25]]);
const known = (type) => SAME_AS.get(type) ?? type;

class Client extends pg.Client {
  query(query, ...rest) {
    if (!query.types) return super.query(query, ...rest);
    const types = { getTypeParser: (type, format) => query.types.getTypeParser(known(type), format) };
    const readable = (result) => {
      for (const field of result?.fields ?? []) field.dataTypeID = known(field.dataTypeID);
      return result;
    };
    const done = rest.at(-1);
    if (typeof done !== "function") return super.query({ ...query, types }, ...rest).then(readable);
    return super.query({ ...query, types }, ...rest.slice(0, -1), (error, result) => done(error, readable(result)));
  }
}

const datamodel = readFileSync(process.env.PRISMA_DML_PATH, "utf8")
  .replace("generator client {", '$&\n  previewFeatures = ["driverAdapters"]')
  .replace(/url\s*=\s*env\(.*\)/, 'url = "postgresql://not-used"');

// For each model the type of each field: texts of Json fields are JSON.
const models = new Map(
  [...datamodel.matchAll(/^model (\w+) \{$(.*?)^\}$/gms)].map(([, model, body]) => [
    model,
    new Map([...body.matchAll(/^\s+(\w+)\s+(\w+)/gm)].map(([, field, type]) => [field, type])),
  ]),
);
const typeOf = (name, type) =>
  type === "Json" && name === "path" ? "String" : (models.get(type)?.get(name) ?? type);

function readValue(node, type) {
  switch (node.kind) {
    case "IntValue": {
      const number = Number(node.value);
      return Number.isSafeInteger(number) ? number : { $type: "BigInt", value: node.value };
    }
    case "FloatValue":
      return Number(node.value);
    case "NullValue":
      return null;
    case "StringValue":
      return type === "Json" ? { $type: "Json", value: node.value } : node.value;
    case "ListValue":
      return node.values.map((value) => readValue(value, type));
    case "ObjectValue":
      return readArguments(node.fields, type);
    default:
      return node.value;
  }
}

function readArguments(fields, type) {
  return Object.fromEntries(
    fields.map(({ name, value }) => [name.value, readValue(value, typeOf(name.value, type))]),
  );
}

function readQuery(field, type) {
  return { arguments: readArguments(field.arguments ?? [], type), selection: readSelection(field.selectionSet, type) };
}

function readSelection(set, type) {
  return Object.fromEntries(
    (set?.selections ?? []).map((field) => [
      field.name.value,
      field.selectionSet || field.arguments?.length ? readQuery(field, typeOf(field.name.value, type)) : true,
    ]),
  );
}

function translate(text) {
  const [field] = parse(text).definitions[0].selectionSet.selections;
  const name = field.name.value;
  const [, action = name, modelName, orThrow = ""] = OPERATION.exec(name) ?? [];
  const request = { modelName, action: action + orThrow, query: readQuery(field, modelName) };
  return { request, key: field.alias?.value ?? name };
}

function withoutTypes(value) {
  if (Array.isArray(value)) return value.map(withoutTypes);
  if (value === null || typeof value !== "object") return value;
  if (typeof value.$type === "string") return value.$type === "BigInt" ? Number(value.value) : value.value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutTypes(inner)]));
}

const toAnswer = (found, key) =>
  found.errors
    ? { errors: found.errors, data: null }
    : { data: { [key]: withoutTypes(Object.values(found.data)[0]) } };

async function send(request, transaction) {
  const body = JSON.stringify(request);
  if (process.env.TRACE) console.error(body);
  const found = JSON.parse(await engine.query(body, "{}", transaction));
  if (process.env.TRACE && found.errors) console.error(JSON.stringify(found.errors));
  return found;
}

async function run(body, transaction) {
  const { batch, query, transaction: atomic } = JSON.parse(body);
  if (!batch) {
    const { request, key } = translate(query);
    return toAnswer(await send(request, transaction), key);
  }
  const all = batch.map((one) => translate(one.query));
  const found = await send({ batch: all.map(({ request }) => request), transaction: atomic ? {} : undefined }, transaction);
  return found.errors ? found : { batchResult: found.batchResult.map((one, at) => toAnswer(one, all[at].key)) };
}

async function respond(path, body, transaction) {
  const [, first, id, end] = path.split("/");
  if (first === "status") return { status: "ok" };
  if (first !== "transaction") return run(body, transaction);
  if (id === "start") return JSON.parse(await engine.startTransaction(body, "{}"));
  const ended = end === "commit" ? engine.commitTransaction(id, "{}") : engine.rollbackTransaction(id, "{}");
  return JSON.parse(await ended);
}

const folder = require.resolve(PACKAGE).replace("package.json", "postgresql/");
const bindings = await import(`${folder}query_engine_bg.js`);
const compiled = new WebAssembly.Module(readFileSync(`${folder}query_engine_bg.wasm`));
const { exports } = new WebAssembly.Instance(compiled, { "./query_engine_bg.js": bindings });
bindings.__wbg_set_wasm(exports);
exports.__wbindgen_start?.();

// connection_limit and pool_timeout are options of the binary engine that LiteLLM adds.
const connectionString = process.env.DATABASE_URL.replace(/[?&](connection_limit|pool_timeout)=[^&]*/g, "")
  .replace(/^([^?&]*)&/, "$1?");
const pool = new pg.Pool({ Client, connectionString });
const engine = new bindings.QueryEngine(
  { datamodel, logLevel: "error", logQueries: false },
  (line) => console.error(line),
  bindAdapter(new PrismaPg(pool)),
);
await engine.connect("{}");

createServer(async (request, response) => {
  let body = "";
  for await (const piece of request.setEncoding("utf8")) body += piece;
  let answer;
  try {
    answer = await respond(request.url, body, request.headers["x-transaction-id"]);
  } catch (error) {
    const message = String(error);
    console.error(message);
    answer = { errors: [{ error: message, user_facing_error: { message, error_code: "P2010", meta: {} } }] };
  }
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(answer));
}).listen(Number(process.argv[process.argv.indexOf("-p") + 1]), "localhost");
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(0));
