// A switch without a case for one enumerator, which the test `warnings` gives to the compiler; no target has this file.
enum class Colour { red, green };

int number(Colour colour) {
  switch (colour) {
    case Colour::red: return 1;
  }
  return 0;
}
