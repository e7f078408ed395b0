// Sends a conversation with a missing tool result through the proxy, with clients of agents written in TypeScript.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { generateText, jsonSchema, tool } from "ai";
import { createOpenAI } from "@ai-sdk/openai";

const apiKey = process.env.KEY;
const schema = { type: "object", properties: { city: { type: "string" } } };
const question = { role: "user", content: "What is the weather in Paris?" };
const next = { role: "user", content: "Never mind. And in Rome?" };

const anthropic = new Anthropic({ apiKey, maxRetries: 0 });
const claude = {
  model: "claude-sonnet-4-6",
  max_tokens: 99,
  tools: [{ name: "get_weather", input_schema: schema }],
  messages: [
    question,
    { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "get_weather", input: { city: "Paris" } }] },
    next,
  ],
};
const message = await anthropic.messages.create(claude);
if (message.content.length) console.log("anthropic");
const final = await anthropic.messages.stream(claude).finalMessage();
if (final.content.length) console.log("anthropic-stream");

const openai = new OpenAI({ apiKey, maxRetries: 0 });
const call = { id: "call_1", type: "function", function: { name: "get_weather", arguments: '{"city": "Paris"}' } };
const chat = {
  model: "gpt-4o",
  tools: [{ type: "function", function: { name: "get_weather", parameters: schema } }],
  messages: [question, { role: "assistant", content: "I look it up.", tool_calls: [call] }, next],
};
const completion = await openai.chat.completions.create(chat);
if (completion.choices.length) console.log("openai");
let chunks = 0;
for await (const chunk of await openai.chat.completions.create({ ...chat, stream: true })) chunks += chunk.choices.length;
if (chunks > 1) console.log("openai-stream");
const item = { type: "function_call", call_id: "call_1", name: "get_weather", arguments: '{"city": "Paris"}' };
const response = await openai.responses.create({ model: "gpt-4.1", input: [question, item, next] });
if (response.output_text) console.log("responses");

const provider = createOpenAI({ apiKey, baseURL: process.env.OPENAI_BASE_URL });
const { text } = await generateText({
  model: provider.chat("gpt-4o"),
  maxRetries: 0,
  tools: { get_weather: tool({ inputSchema: jsonSchema(schema) }) },
  messages: [{ role: "user", content: "a" }, { role: "assistant", content: "" }, { role: "user", content: "b" }],
});
if (text) console.log("ai");
