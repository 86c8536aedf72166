// @boundaries-ignore all receivers share these tests
import { receiverContract } from "../../receiver-contract.js";

receiverContract(new URL("../src/main.mjs", import.meta.url));
