// Sends one conversation in four formats through the proxy, with clients of agents written in TypeScript.
// It has an image with a wrong type and a tool call without a result.
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { generateText, jsonSchema, streamText, tool } from "ai";
import { createOpenAI } from "@ai-sdk/openai";

const apiKey = process.env.KEY;
const schema = { type: "object", properties: { city: { type: "string" } } };
const args = { city: "Paris" };
const ask = "What is the weather in Paris?";
const next = "Never mind. And in Rome?";
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const jpeg = `data:image/jpeg;base64,${png}`;

// Messages
const anthropic = new Anthropic({ apiKey, maxRetries: 0 });
const claude = {
  model: "claude-sonnet-4-6",
  max_tokens: 99,
  tools: [{ name: "get_weather", input_schema: schema }],
  messages: [
    { role: "user", content: [{ type: "text", text: ask }, { type: "image", source: { type: "base64", media_type: "image/jpeg", data: png } }] },
    { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "get_weather", input: args }] },
    { role: "user", content: next },
  ],
};
const message = await anthropic.messages.create(claude);
if (message.content.length) console.log("anthropic");
const final = await anthropic.messages.stream(claude).finalMessage();
if (final.content.length) console.log("anthropic-stream");

// Chat Completions
const openai = new OpenAI({ apiKey, maxRetries: 0 });
const call = { id: "call_1", type: "function", function: { name: "get_weather", arguments: JSON.stringify(args) } };
const chat = {
  model: "gpt-4o",
  tools: [{ type: "function", function: { name: "get_weather", parameters: schema } }],
  messages: [
    { role: "user", content: [{ type: "text", text: ask }, { type: "image_url", image_url: { url: jpeg } }] },
    { role: "assistant", content: "I look it up.", tool_calls: [call] },
    { role: "user", content: next },
  ],
};
const completion = await openai.chat.completions.create(chat);
if (completion.choices.length) console.log("openai");
let chunks = 0;
for await (const chunk of await openai.chat.completions.create({ ...chat, stream: true })) chunks += chunk.choices.length;
if (chunks > 1) console.log("openai-stream");

// Responses
const items = {
  model: "gpt-4.1",
  tools: [{ type: "function", name: "get_weather", parameters: schema, strict: false }],
  input: [
    { role: "user", content: [{ type: "input_text", text: ask }, { type: "input_image", image_url: jpeg, detail: "auto" }] },
    { type: "function_call", call_id: "call_1", name: "get_weather", arguments: JSON.stringify(args) },
    { role: "user", content: next },
  ],
};
const response = await openai.responses.create(items);
if (response.output_text) console.log("responses");
let events = 0;
for await (const event of await openai.responses.create({ ...items, stream: true })) events += event.type ? 1 : 0;
if (events > 1) console.log("responses-stream");

// generateContent
const google = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: process.env.GOOGLE_GEMINI_BASE_URL } });
const content = {
  model: "gemini-2.5-flash",
  config: { tools: [{ functionDeclarations: [{ name: "get_weather", parametersJsonSchema: schema }] }] },
  contents: [
    { role: "user", parts: [{ text: ask }, { inlineData: { mimeType: "image/jpeg", data: png } }] },
    { role: "model", parts: [{ functionCall: { name: "get_weather", args } }, { functionCall: { name: "get_weather", args: { city: "Rome" } } }] },
    { role: "user", parts: [{ functionResponse: { name: "get_weather", response: { degrees: 18 } } }] },
  ],
};
if ((await google.models.generateContent(content)).text) console.log("gemini");
let parts = 0;
for await (const part of await google.models.generateContentStream(content)) parts += part.candidates.length;
if (parts > 1) console.log("gemini-stream");

// Vercel's ai, which calls the tool itself: the answers are prescribed by the test.
const provider = createOpenAI({ apiKey, baseURL: process.env.OPENAI_BASE_URL });
const agent = {
  model: provider.chat("gpt-4o"),
  maxRetries: 0,
  tools: { get_weather: tool({ inputSchema: jsonSchema(schema), execute: ({ city }) => `18 degrees in ${city}` }) },
  messages: [{ role: "user", content: "a" }, { role: "assistant", content: "" }, { role: "user", content: "b" }],
};
const { text } = await generateText(agent);
if (text) console.log("ai");
let written = "";
for await (const piece of streamText(agent).textStream) written += piece;
if (written) console.log("ai-stream");
